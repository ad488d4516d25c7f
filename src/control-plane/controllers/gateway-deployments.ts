/** Objects that Gateways need in; the same in the API, by server-side apply, out. What others made under such a name is left alone. */
import type { Collection } from "../../collections/index.ts";
import { managedLabel } from "../../inject/index.ts";
import { type KindRef, type KubeClient, kubeKinds } from "../../kube/index.ts";
import type { Logger, QueueMeter } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { runKeyedWork } from "./keyed-work.ts";

export interface GatewayDeploymentsOptions {
  readonly client: KubeClient;
  /** By `Kind/namespace/name`. */
  readonly wanted: Collection<KubeObject>;
  /** Those of the kinds that are there: one that somebody changes or deletes is put right. */
  readonly present: readonly Collection<KubeObject>[];
  readonly log: Logger;
  readonly meter?: QueueMeter;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

const kinds: ReadonlyMap<string, KindRef> = new Map(
  [
    kubeKinds.serviceAccounts,
    kubeKinds.deployments,
    kubeKinds.services,
    kubeKinds.autoscalers,
    kubeKinds.disruptionBudgets,
  ].map((kind) => [kind.kind, kind]),
);

/** As istiod applies them, so that either takes over the fields of the other. */
const fieldManager = "istio.io/gateway-controller";

export function runGatewayDeployments(options: GatewayDeploymentsOptions): void {
  const { client, wanted, signal } = options;
  const work = async (key: string): Promise<void> => {
    const object = wanted.get(key);
    const kind = kinds.get(object?.kind ?? "");
    if (!object || !kind) return;
    const live = await client.find(kind, object.metadata, signal);
    if (live && live.metadata.labels?.[managedLabel] === undefined) return;
    const resourceVersion = live?.metadata.resourceVersion;
    const metadata = { ...object.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    await client.patch(kind, metadata, "apply", { ...object, metadata }, { fieldManager, force: true, signal });
  };
  const queue = runKeyedWork({ ...options, name: "gateway", work });
  const stops = [
    wanted.subscribe((key, now) => now && queue.due(key)),
    ...options.present.map((objects) =>
      objects.subscribe((_key, now, before) => {
        const { kind, metadata } = now ?? before ?? {};
        const id = `${kind}/${metadata?.namespace}/${metadata?.name}`;
        if (wanted.get(id)) queue.due(id);
      }),
    ),
  ];
  signal.addEventListener(
    "abort",
    () => {
      for (const stop of stops) stop();
    },
    { once: true },
  );
  for (const key of wanted.keys()) queue.due(key);
}
