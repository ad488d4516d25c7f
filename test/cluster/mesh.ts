/** A cluster with a control plane on it, and a namespace of its mesh: what most tests of this folder begin with. */
import { type Cluster, openCluster } from "./cluster.ts";
import { type Plane, startPlane } from "./plane.ts";

export interface ClusterMesh {
  readonly cluster: Cluster;
  readonly plane: Plane;
  readonly namespace: string;
}

/** Closed with its cluster. */
export async function openMesh(): Promise<ClusterMesh> {
  const cluster = await openCluster();
  try {
    const plane = await startPlane(cluster);
    return { cluster, plane, namespace: await cluster.namespace(plane.labels) };
  } catch (error) {
    await cluster.close();
    throw error;
  }
}
