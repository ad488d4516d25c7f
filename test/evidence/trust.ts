/** MeshConfig in; one text out that differs whenever proxies believe other roots, or somebody else is asked for them. */
import { followFurtherRoots } from "../../src/control-plane/trust/further-roots.ts";
import { silentLogger } from "../../src/lib/index.ts";
import type { MeshConfigSpec } from "../../src/model/index.ts";

export function trustOf(meshConfig: MeshConfigSpec): string {
  const asked: string[] = [];
  const nobody = (): Promise<never> => Promise.reject(new Error("nobody answers here"));
  const stop = new AbortController();
  const roots = followFurtherRoots({
    settings: () => meshConfig,
    client: {
      get(url) {
        asked.push(url);
        return nobody();
      },
      ask: nobody,
    },
    log: silentLogger,
    signal: stop.signal,
  });
  stop.abort();
  const believed = [roots.current(), roots.ofSigner("x")].map((some) => some.map((root) => root.fingerprint256).join());
  return [...believed, ...asked].join(" ");
}
