/** A gateway in; the clusters behind its AUTO_PASSTHROUGH servers, which are told apart by the SNI of Istio's mTLS alone, out. */

import { ownFacet } from "../facets.ts";
import { clientScope } from "../outbound/client-scope.ts";
import { allDecisions } from "../outbound/decisions.ts";
import { type DecidedTarget, decidedTargets, targetsKey } from "../outbound/targets.ts";
import { recipe } from "../recipe.ts";
import { routesBySni } from "./servers.ts";

export const sniDecisions = recipe(ownFacet, "SNI decisions", (view): readonly DecidedTarget[] => {
  if (!routesBySni(view)) return [];
  const { table } = clientScope(view);
  return [...allDecisions(view)].flatMap(([service, { rule }]) =>
    decidedTargets(view, targetsKey({ mode: "sni-dnat", service, ports: table.portsLeft(service), rule })),
  );
});
