/**
 * What can be read of a mesh, and who looks, in; the same without what they may not see out. Each subject of the read API
 * has its file here, which says what of it is seen: a read that is in none does not compile.
 */
import type { MeshReads } from "../../../read-api/index.ts";
import { seesAll, type Viewer } from "../viewer.ts";
import { visibleChanges } from "./changes.ts";
import { visibleDiff } from "./diff.ts";
import { visibleGraph } from "./graph.ts";
import { visibleIdentities } from "./identities.ts";
import { visibleLiveRequests } from "./live-requests.ts";
import { visibleNamespaces } from "./namespaces.ts";
import { visibleObjects } from "./objects.ts";
import { visibleOverview } from "./overview.ts";
import { visibleProxies } from "./proxies.ts";
import { visibleResources } from "./resources.ts";
import { visibleServices } from "./services.ts";
import { createSight } from "./sight.ts";
import { visibleWhy } from "./why.ts";
import { visibleWorkloads } from "./workloads.ts";

export function visibleReads(reads: MeshReads, viewer: Viewer): MeshReads {
  if (viewer === seesAll) return reads;
  const sight = createSight(reads, viewer);
  const seen = {
    ...visibleProxies(reads, sight),
    ...visibleServices(reads, sight),
    ...visibleObjects(reads, sight),
  };
  return {
    // That something moved names nothing.
    moves: reads.moves,
    ...seen,
    ...visibleResources(reads, sight),
    ...visibleOverview(reads, sight, seen),
    ...visibleNamespaces(reads, sight, seen),
    ...visibleWorkloads(reads, sight),
    ...visibleGraph(reads, sight),
    ...visibleLiveRequests(reads, sight),
    ...visibleChanges(reads, sight),
    ...visibleIdentities(reads, sight),
    ...visibleWhy(reads, sight),
    ...visibleDiff(reads, sight),
  };
}
