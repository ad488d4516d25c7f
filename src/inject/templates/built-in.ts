/** The templates that come with Fairlead, by the names that Istio gives them. */
import { gateway } from "./gateway.ts";
import { grpcAgent, grpcSimple } from "./grpc.ts";
import type { Template } from "./input.ts";
import { sidecar } from "./sidecar.ts";

export const builtInTemplates: ReadonlyMap<string, Template> = new Map([
  ["sidecar", sidecar],
  ["gateway", gateway],
  ["grpc-agent", grpcAgent],
  ["grpc-simple", grpcSimple],
]);
