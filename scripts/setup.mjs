// Brings whatever is missing: packages, generated code, the bundle, Envoy. Plain JavaScript for Node 20.19, because it
// is what runs before anything else is there. Each step is skipped when nothing it depends on has changed. All progress
// goes to stderr: stdout belongs to the command.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { giveToOwner } from "./user-home.mjs";

export const root = fileURLToPath(new URL("..", import.meta.url));
const stamps = join(root, ".cache/stamps");
const say = (text) => process.stderr.write(`fairlead set-up: ${text}\n`);

/** The Node that runs Fairlead: this one where it is new enough, else the one that came as a package. */
export function nodeBin() {
  const [major] = process.versions.node.split(".").map(Number);
  if (major >= 24) return process.execPath;
  // Not `.bin/node`: npm 9 takes that away together with the Node of the other platforms.
  const packaged = join(root, `node_modules/node-linux-${process.arch}/bin/node`);
  return existsSync(packaged) ? packaged : undefined;
}

function hashOf(...paths) {
  const hash = createHash("sha256");
  const add = (path) => {
    if (statSync(path).isDirectory()) for (const entry of readdirSync(path).sort()) add(join(path, entry));
    // Tests are in no bundle.
    else if (!path.endsWith(".test.ts")) hash.update(path.slice(root.length)).update(readFileSync(path));
  };
  for (const path of paths) if (existsSync(join(root, path))) add(join(root, path));
  return hash.digest("hex");
}

/** Runs `work` unless it ran before for the same inputs and its product is still there. */
async function step(name, inputs, product, work) {
  const stamp = join(stamps, name);
  if (existsSync(join(root, product)) && existsSync(stamp) && readFileSync(stamp, "utf8") === inputs) return;
  const started = Date.now();
  say(`${name} …`);
  await work();
  mkdirSync(stamps, { recursive: true });
  writeFileSync(stamp, inputs);
  say(`${name} done in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2], ...options });
  if (result.error) throw new Error(`${command}: ${result.error.message}`);
  if (result.status !== 0)
    throw new Error(`${command} ${args[0] ?? ""} failed with status ${result.status ?? result.signal}`);
}

export async function ensurePackages() {
  await step("packages", hashOf("package-lock.json", ".npmrc"), "node_modules/.bin", () => {
    // Not `npm ci`: it refuses a lock file without the binaries of platforms that a registry's mirror does not carry.
    // What is locked is installed as locked, and nothing is written back.
    run("npm", ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    giveToOwner(root, ["node_modules"]);
  });
  if (!nodeBin())
    throw new Error("no Node 24 for this platform came with the packages; install Node 24 and start again");
}

export async function ensureGenerated() {
  await step(
    "generated code",
    hashOf(
      "proto",
      "scripts/gen.mjs",
      "scripts/proto",
      "scripts/gen-kube-schemas.mjs",
      "scripts/kube-field-numbers.json",
      "package-lock.json",
    ),
    "src/gen/all.js",
    () => {
      run(nodeBin(), [join(root, "scripts/gen.mjs")]);
    },
  );
}

export async function ensureBuild() {
  await step("bundle", hashOf("src", "demo", "scripts", "package.json"), "dist/main.js", () =>
    run(nodeBin(), [join(root, "scripts/bundle.mjs")]),
  );
}

export async function ensureAll() {
  const started = new Date();
  await ensurePackages();
  await ensureGenerated();
  await ensureBuild();
  // What changes while this runs is newer than the stamp, and is looked at next time; `fairlead` compares.
  writeFileSync(join(stamps, "whole"), "");
  utimesSync(join(stamps, "whole"), started, started);
  giveToOwner(root, [".cache", "src/gen", "dist"]);
}

/** Only one set-up at a time in one checkout; a lock left by a dead process is taken over. */
export async function withLock(work) {
  const lock = join(root, ".cache/setup.lock");
  mkdirSync(join(root, ".cache"), { recursive: true });
  for (let told = false; ; ) {
    // A link appears with its content, so nobody takes a lock that is being written for an abandoned one.
    const own = `${lock}.${process.pid}`;
    writeFileSync(own, String(process.pid));
    try {
      linkSync(own, lock);
      break;
    } catch {
      const owner = Number(existsSync(lock) ? readFileSync(lock, "utf8") : 0);
      if (!owner || !alive(owner)) rmSync(lock, { force: true });
      else if (!told) {
        say(`waiting for the set-up of process ${owner}`);
        told = true;
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    } finally {
      rmSync(own, { force: true });
    }
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
    giveToOwner(root, [".cache"]);
  }
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

async function generate() {
  await ensurePackages();
  await ensureGenerated();
}

/** For `npm pack`: the bundle, and nothing of earlier ones. */
async function ensurePackage() {
  await ensureAll();
  run(nodeBin(), [join(root, "scripts/bundle.mjs"), "--clean"]);
}

const steps = { packages: ensurePackages, gen: generate, build: ensureAll, package: ensurePackage };
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const wanted = steps[process.argv[2] ?? "build"];
  if (!wanted) throw new Error(`unknown step; use one of ${Object.keys(steps).join(", ")}`);
  await withLock(wanted);
}
