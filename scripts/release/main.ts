/**
 * `npm run release -- --tag vVERSION`: builds the image from that tag alone, runs the image's tests and those of every hole
 * of the past on it, and writes its provenance. `-- --verify FILE PROVENANCE` compares what was downloaded with that.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { home } from "../image/layers.ts";
import { mismatch, provenanceOf } from "./provenance.ts";
import { pastHoleTests, releasedCommit } from "./tag.ts";

const root = resolve(import.meta.dirname, "../..");
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tag: { type: "string" },
    out: { type: "string", default: join(root, ".cache/release") },
    verify: { type: "boolean" },
  },
});

try {
  if (flags.verify) verify(positionals);
  else if (flags.tag === undefined) throw new Error("name what to release: npm run release -- --tag vVERSION");
  else release(flags.tag, resolve(flags.out));
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

function verify([file, statement]: readonly string[]): void {
  if (file === undefined || statement === undefined) throw new Error("--verify needs FILE PROVENANCE");
  const wrong = mismatch(file, readFileSync(statement, "utf8"));
  if (wrong !== undefined) throw new Error(wrong);
  process.stdout.write(`${file} is what the statement says\n`);
}

/** In a clone that has nothing but the tag: what lies about here cannot get in. */
function release(tag: string, out: string): void {
  const commit = releasedCommit(root, tag);
  const work = mkdtempSync(join(tmpdir(), "fairlead-release-"));
  try {
    const clone = join(work, "clone");
    execFileSync("git", ["clone", "-q", "--no-local", root, clone], { stdio: "inherit" });
    execFileSync("git", ["checkout", "-q", "--detach", commit], { cwd: clone, stdio: "inherit" });
    const made = join(work, "image");
    npm(clone, "run", "image", "--", "--out", made);
    const page = readFileSync(join(clone, "docs/reference/past-holes.md"), "utf8");
    npm(clone, "test", "--", "test/image", ...pastHoleTests(page));
    sameProgram(clone, made);
    const names = readdirSync(made).filter((name) => /\.(tar|spdx\.json)$/.test(name));
    mkdirSync(out, { recursive: true });
    for (const name of names) writeFileSync(join(out, name), readFileSync(join(made, name)));
    const files = names.map((name) => join(out, name));
    writeFileSync(join(out, "provenance.json"), provenanceOf({ tag, commit, files }));
    process.stdout.write(`${[...files, join(out, "provenance.json")].join("\n")}\n`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function npm(clone: string, ...args: readonly string[]): void {
  const { status } = spawnSync("npm", ["--silent", ...args], { cwd: clone, stdio: "inherit" });
  if (status !== 0) throw new Error(`npm ${args.slice(0, 3).join(" ")} failed with status ${status}`);
}

/** The program in the image is the one that the tests were run on. */
function sameProgram(clone: string, made: string): void {
  const digest = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");
  const shipped = join(made, "root", home, "dist");
  const programs = readdirSync(shipped, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"));
  for (const name of programs)
    if (digest(join(shipped, name)) !== digest(join(clone, "dist", name)))
      throw new Error(`${name} in the image is not what was tested`);
}
