/** A Pod in; how long after now it was seen out of its Service's ready endpoints, out. */
import { type KubeClient, kubeKinds } from "../../src/kube/index.ts";
import { readList, readRecord, readTexts } from "../../src/lib/index.ts";
import type { ChaosPod } from "./mesh.ts";

export interface WatchedEndpoint {
  /** Ends the watch; undefined where it was never out. */
  notReadyAfterMs(): Promise<number | undefined>;
}

const { endpointSlices } = kubeKinds;

export async function watchEndpoint(api: KubeClient, { address }: ChaosPod): Promise<WatchedEndpoint> {
  const stop = new AbortController();
  const started = performance.now();
  let outAfterMs: number | undefined;
  const look = (slice: unknown): void => {
    const found = readList(readRecord(slice).endpoints)
      .map(readRecord)
      .find(({ addresses }) => readTexts(addresses).includes(address));
    if (found && readRecord(found.conditions).ready === false) outAfterMs ??= performance.now() - started;
  };
  const { resourceVersion } = await api.list(endpointSlices, { namespace: "default" });
  const follow = async (): Promise<void> => {
    for await (const event of api.watch(endpointSlices, { resourceVersion, stallMs: 60_000, signal: stop.signal }))
      if ("object" in event) look(event.object);
  };
  const following = follow().catch(() => {});
  return {
    async notReadyAfterMs() {
      stop.abort();
      await following;
      return outAfterMs;
    },
  };
}
