/** A folder and a commit in; the bundle that a mesh runs from, and an older one that can take its place, out. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

export interface Bundles {
  /** The entry that everything is started from: whichever bundle has its place. */
  readonly entry: string;
  /** The entry of the one that has not. */
  readonly otherEntry: string;
  /** In words: what the other one is. */
  readonly other: string;
  /** Exchanges the two. What runs goes on with the files it has; what is started gets the other. */
  swap(): void;
}

/** Without history there is no older one: then it is the same code from another folder. */
export function prepareBundles(dir: string, commit: string | undefined, say: (text: string) => void): Bundles {
  const [place, otherPlace] = [join(dir, "bundle"), join(dir, "other-bundle")];
  copyBundle(root, place);
  const old = commit === undefined ? undefined : buildAt(commit, join(dir, "old-source"), say);
  copyBundle(old ?? root, otherPlace);
  return {
    entry: join(place, "dist/main.js"),
    otherEntry: join(otherPlace, "dist/main.js"),
    other: old ? `the bundle of ${commit}` : "a copy of the same bundle",
    swap() {
      const aside = join(dir, "bundle-aside");
      renameSync(place, aside);
      renameSync(otherPlace, place);
      renameSync(aside, otherPlace);
    },
  };
}

function copyBundle(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of ["dist", "package.json", "demo/config"])
    cpSync(join(from, name), join(to, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(to, "node_modules"));
}

function buildAt(commit: string, dir: string, say: (text: string) => void): string | undefined {
  if (!existsSync(join(root, ".git"))) return undefined;
  mkdirSync(dir);
  try {
    const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 1 << 28 });
    execFileSync("tar", ["-x"], { cwd: dir, input: archive });
    symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
    for (const script of ["scripts/gen.mjs", "scripts/bundle.mjs"])
      execFileSync(process.execPath, [script], { cwd: dir, stdio: ["ignore", "ignore", "pipe"] });
    return dir;
  } catch (error) {
    say(`${commit} cannot be built: ${error instanceof Error ? error.message.slice(0, 500) : String(error)}`);
    return undefined;
  }
}
