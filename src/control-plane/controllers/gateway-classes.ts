/** The API's GatewayClasses in; Istio's own ones, created where they are missing and never changed, out. */
import type { Collection } from "../../collections/index.ts";
import type { KubeClient } from "../../kube/index.ts";
import { kindRef } from "../../kube/index.ts";
import { FairleadError, type Logger, type QueueMeter } from "../../lib/index.ts";
import { gatewayClass, type KubeObject } from "../../model/index.ts";
import { runKeyedWork } from "./keyed-work.ts";

export interface GatewayClassesOptions {
  readonly client: KubeClient;
  readonly classes: Collection<KubeObject>;
  readonly log: Logger;
  readonly meter?: QueueMeter;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Classes of waypoints are left to who serves waypoints. */
const builtIn: ReadonlyMap<string, { readonly controllerName: string; readonly description: string }> = new Map([
  ["istio", { controllerName: "istio.io/gateway-controller", description: "The default Istio GatewayClass" }],
  [
    "istio-remote",
    {
      controllerName: "istio.io/unmanaged-gateway",
      description: "Remote to this cluster. Does not deploy or affect configuration.",
    },
  ],
]);

export function runGatewayClasses(options: GatewayClassesOptions): void {
  const { client, classes, signal } = options;
  const work = async (name: string): Promise<void> => {
    const spec = builtIn.get(name);
    if (!spec || classes.get(name)) return;
    const { group, version, kind } = kindRef(gatewayClass);
    const object = { apiVersion: `${group}/${version}`, kind, metadata: { name }, spec };
    await client.create(kindRef(gatewayClass), object, { signal }).catch((error: unknown) => {
      // Another was faster. Where the CRD is not installed (not-found) it is tried again, quietly.
      if (FairleadError.from(error).code !== "already-exists") throw error;
    });
  };
  const queue = runKeyedWork({ ...options, name: "GatewayClass", work, minBackoffMs: 1_000 });
  const stop = classes.subscribe((name, now) => now ?? queue.due(name));
  signal.addEventListener("abort", stop, { once: true });
  for (const name of builtIn.keys()) queue.due(name);
}
