// Finds a kubectl that is new enough for the tests (older ones lack `--subresource`, `create token` and more), or brings
// Debian's of a newer release, checked against its pinned digest. Plain JavaScript for Node 20.19.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { keep } from "./cache.mjs";
import { userCache } from "./user-home.mjs";

const version = "1.32.3";
const oldestMinor = 26;
/** Debian's packages, by Node's name of the architecture. */
const packages = new Map([
  ["x64", { arch: "amd64", digest: "9825aaf4c14913027aae04af8688e580459f781c829bd5de00cc4dc2cc5a867f" }],
  ["arm64", { arch: "arm64", digest: "b85800b5e2d2ecc958e2b9dfa7d4ce13b14e1175242de1f71acb4fa4b0b63212" }],
]);

const urlOf = (/** @type {string} */ arch) =>
  `http://deb.debian.org/debian/pool/main/k/kubernetes/kubectl_${version}+ds-2_${arch}.deb`;

/**
 * The first of these that is new enough.
 * @param {readonly string[]} files
 * @returns {string | undefined}
 */
export function newEnough(files) {
  return files.find((file) => {
    const { status, stdout } = spawnSync(file, ["version", "--client", "-o", "json"], { encoding: "utf8" });
    if (status !== 0) return false;
    // `32`, or `32+` where a vendor built it.
    return Number.parseInt(JSON.parse(stdout).clientVersion?.minor ?? "0", 10) >= oldestMinor;
  });
}

/** @param {Readonly<Record<string, string | undefined>>} env */
export const cachedKubectl = (env) => join(userCache(env), `kubectl-${version}`, "kubectl");

/** @param {string} arch */
export const hasPinnedKubectl = (arch) => packages.has(arch);

/** The folder of a kubectl that is new enough. */
export async function ensureKubectl() {
  const onPath = (process.env.PATH ?? "").split(":").map((dir) => join(dir, "kubectl"));
  const found = newEnough([...onPath, cachedKubectl(process.env)].filter((file) => existsSync(file)));
  if (found !== undefined) return dirname(found);
  const pinned = packages.get(process.arch);
  if (!pinned) throw new Error(`no kubectl: none is pinned for ${process.arch}`);
  process.stderr.write(`fairlead set-up: kubectl ${version} from Debian's package (16 MB) …\n`);
  const work = mkdtempSync(join(tmpdir(), "fairlead-kubectl-"));
  try {
    const file = join(work, "kubectl.deb");
    writeFileSync(file, await download(urlOf(pinned.arch), pinned.digest));
    const { status, stderr } = spawnSync("dpkg-deb", ["-x", file, join(work, "out")], { encoding: "utf8" });
    if (status !== 0) throw new Error(`kubectl: dpkg-deb: ${stderr}`);
    return dirname(keep(join(work, "out/usr/bin/kubectl"), cachedKubectl(process.env)));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * @param {string} url
 * @param {string} digest
 */
async function download(url, digest) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(300_000) });
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
  const body = Buffer.from(await answer.arrayBuffer());
  const seen = createHash("sha256").update(body).digest("hex");
  if (seen !== digest) throw new Error(`${url} has digest ${seen} instead of ${digest}`);
  return body;
}
