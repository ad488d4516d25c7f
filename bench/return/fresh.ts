/** A control plane's plain-text address in; how much it sends a proxy that has nothing yet, out. */
import { loadProxy, runProxy } from "../scale/load-proxy.ts";
import { parseAddress } from "../scale/server.ts";

/** Once it is warm, what belongs to it still follows: until nothing has come for so long. */
const quietMs = 1_000;

export async function freshBytes(address: string): Promise<number> {
  const stop = new AbortController();
  const shape = { namespaces: 1, deployments: 0, mode: "delta", envoyVersion: "1.40.0" } as const;
  const warm = Promise.withResolvers<void>();
  let [bytes, lastMs] = [0, performance.now()];
  const running = runProxy(
    parseAddress(address),
    shape.mode,
    loadProxy(0, shape),
    {
      onMessage(message) {
        bytes += message.length;
        lastMs = performance.now();
      },
      onWarm: () => warm.resolve(),
    },
    stop.signal,
  );
  await Promise.race([warm.promise, running]);
  while (performance.now() - lastMs < quietMs) await new Promise((resolve) => setTimeout(resolve, 100));
  stop.abort();
  await running.catch(() => {});
  return bytes;
}
