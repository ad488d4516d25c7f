/** A gateway in; the clusters behind its AUTO_PASSTHROUGH servers, which are told apart by the SNI of Istio's mTLS alone, out. */
import { clientScope } from "./client-scope.ts";
import { type DecidedTarget, serviceTargets, targetsKey } from "./cluster-outbound.ts";
import { ownFacet } from "./facets.ts";
import { routesBySni } from "./gateway-servers.ts";
import { allDecisions } from "./outbound-decisions.ts";
import { recipe } from "./recipe.ts";

export const sniDecisions = recipe(ownFacet, "SNI decisions", (view): readonly DecidedTarget[] => {
  if (!routesBySni(view)) return [];
  const { table } = clientScope(view);
  return [...allDecisions(view)].flatMap(([service, { rule }]) =>
    serviceTargets(view, targetsKey({ mode: "sni-dnat", service, ports: table.portsLeft(service), rule })),
  );
});
