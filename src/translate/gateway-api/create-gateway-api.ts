/** The Gateway API's objects in; internal Gateways, VirtualServices and DestinationRules that mean the same out. */
import type { Collection, Graph } from "../../collections/index.ts";
import type { Config, DestinationRuleSpec, GatewaySpec, VirtualServiceSpec } from "../../model/index.ts";
import { translateBackendTls } from "./backend-tls-policy.ts";
import { type TranslatedListener, translateGateway } from "./gateway.ts";
import { createGrants } from "./grant.ts";
import type { GatewayApiInputs } from "./inputs.ts";
import { translateRoutes } from "./virtual-service.ts";

export interface TranslatedGatewayApi {
  readonly gateways: Collection<Config<GatewaySpec>>;
  readonly virtualServices: Collection<Config<VirtualServiceSpec>>;
  readonly destinationRules: Collection<Config<DestinationRuleSpec>>;
}

export function createGatewayApi(graph: Graph, inputs: GatewayApiInputs): TranslatedGatewayApi {
  const grants = createGrants(graph, inputs);
  const listeners = translateGateway(graph, inputs, grants);
  const byOwner = graph.index(listeners, "owner", ({ parent }) => [parent.owner]);
  const parentsOf = (owner: string) => byOwner.get(owner).flatMap((key) => listeners.get(key)?.parent ?? []);
  return {
    gateways: graph.derive<TranslatedListener, Config<GatewaySpec>>(
      "Gateway API gateways",
      listeners,
      ({ config, problem }, key) => (problem ? [] : [[key, config]]),
    ),
    virtualServices: translateRoutes(graph, { inputs, grants, parentsOf }),
    destinationRules: translateBackendTls(graph, inputs),
  };
}
