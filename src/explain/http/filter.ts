/** What an HTTP filter is handed and what it gives back. */
import type { Any } from "@bufbuild/protobuf/wkt";
import type { Route, VirtualHost } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { FilterConfigSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { RouteConfiguration } from "../../gen/envoy/config/route/v3/route_pb.js";
import type { Metadata } from "../match/metadata.ts";
import type { Subject } from "../rbac.ts";
import type { HttpRequest } from "../request.ts";
import type { Hint, Recorder, Stage } from "../trace.ts";
import { typeNameOf, unpack } from "../unpack.ts";
import type { JwtSettings } from "./jwt-token.ts";
import type { ClusterChosen } from "./router.ts";

/** A request on its way through the filters. */
export interface HttpState {
  readonly request: HttpRequest;
  readonly metadata: Metadata;
  readonly subject: Subject;
  readonly config: RouteConfiguration | undefined;
  readonly host: VirtualHost | undefined;
  readonly route: Route | undefined;
  /** Where the route leads; of weighted ones, the one that was taken. */
  readonly chosen: ClusterChosen | undefined;
  /** Seconds that faults add. */
  readonly delaySeconds: number;
}

export interface FilterContext {
  readonly name: string;
  readonly config: Any;
  readonly state: HttpState;
  readonly recorder: Recorder;
  readonly jwt: JwtSettings;
  step(
    stage: Stage,
    decision: string,
    more?: { readonly lost?: readonly string[]; readonly hints?: readonly Hint[]; readonly odds?: number },
  ): void;
}

export type FilterVerdict =
  | { readonly kind: "continue"; readonly state: HttpState; readonly rematch?: boolean }
  | {
      readonly kind: "answer";
      /** As far as it came. */
      readonly state?: HttpState;
      readonly status: number;
      readonly grpcStatus?: number;
      readonly flags: readonly string[];
      readonly details: string;
    };

export type HttpFilterEvaluator = (context: FilterContext) => FilterVerdict;

export const goesOn = ({ state }: FilterContext): FilterVerdict => ({ kind: "continue", state });

/** A filter's settings for this route, the narrowest that there are; `disabled` where it is turned off. */
export function routeSettings({ name, state }: FilterContext): Any | "disabled" | undefined {
  for (const level of [state.route, state.host, state.config]) {
    const own = level?.typedPerFilterConfig[name];
    if (!own) continue;
    const wrapped = unpack(FilterConfigSchema, own);
    if (!wrapped) return own;
    if (wrapped.disabled) return "disabled";
    if (wrapped.config && typeNameOf(wrapped.config) !== "") return wrapped.config;
  }
  return undefined;
}
