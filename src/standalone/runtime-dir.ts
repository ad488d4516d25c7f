/**
 * Where agents find their runtime. They run as a user of their own, who may not be able to read the checkout or the
 * cache of whoever started the mesh; so Node, the bundle and Envoy are shown to them under /run, by bind mounts in their
 * own mount namespace. On the host only empty mount points lie there.
 */
import { closeSync, mkdirSync, openSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Journal } from "./journal.ts";
import type { NetworkPlan } from "./network/plan.ts";

export interface RuntimeDir {
  readonly path: string;
  readonly binds: readonly (readonly [string, string])[];
  /** How to run a Fairlead command inside. */
  readonly fairlead: readonly string[];
  readonly envoy: string;
}

export interface RuntimeSources {
  /** Runtime, its flags, and the bundle's entry. */
  readonly fairlead: readonly string[];
  readonly envoy: string;
}

export function createRuntimeDir(
  plan: NetworkPlan,
  journal: Journal,
  owner: string,
  sources: RuntimeSources,
): RuntimeDir {
  const path = join("/run/fairlead", `${plan.prefix}-${owner}`);
  journal.add({ kind: "folder", path });
  const [node = "", ...rest] = sources.fairlead;
  const entry = rest.at(-1) ?? "";
  const shown = { node: join(path, "node"), dist: join(path, "dist"), envoy: join(path, "envoy") };
  for (const folder of [path, shown.dist, join(path, "pods")]) mkdirSync(folder, { recursive: true, mode: 0o711 });
  for (const file of [shown.node, shown.envoy]) closeSync(openSync(file, "a", 0o755));
  return {
    path,
    binds: [
      [realpathSync(node), shown.node],
      [dirname(realpathSync(entry)), shown.dist],
      [realpathSync(sources.envoy), shown.envoy],
    ],
    fairlead: [shown.node, ...rest.slice(0, -1), join(shown.dist, basename(entry))],
    envoy: shown.envoy,
  };
}
