/** A kind of recorded case in; the folders of all such cases, the repository's and those that lie beside it, out. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { archiveOf, readArchive, unpack } from "../../scripts/corpus.mjs";
import { conformanceDir } from "../require.ts";

export interface RecordedCase {
  readonly name: string;
  readonly dir: string;
}

/** `mark` is a file that every case of the kind has. A case that lies beside with other contents is another case. */
export function recordedCases(kind: string, mark: string): readonly RecordedCase[] {
  const wanted = new RegExp(process.env["FAIRLEAD_CASES"] ?? ".");
  const own = existsSync(archiveOf(kind)) ? casesIn(unpacked(kind), mark) : [];
  const known = own.length === 0 ? new Map<string, string>() : readArchive(kind);
  const beside = casesIn(join(conformanceDir, kind), mark)
    .filter(({ name, dir }) => !isArchived(name, dir, known))
    .map(({ name, dir }) => ({ name: own.some((one) => one.name === name) ? `${name} (beside)` : name, dir }));
  return [...own, ...beside].filter(({ name }) => wanted.test(name));
}

export function casesIn(root: string, mark: string): readonly RecordedCase[] {
  if (!existsSync(root)) return [];
  const names = readdirSync(root)
    .filter((name) => existsSync(join(root, name, mark)))
    .sort();
  return names.map((name) => ({ name, dir: join(root, name) }));
}

function isArchived(name: string, dir: string, known: ReadonlyMap<string, string>): boolean {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.every((file) => {
    const path = join(file.parentPath, file.name);
    return known.get(join(name, relative(dir, path))) === readFileSync(path, "utf8");
  });
}

/** Unpacked once for each state of the archive; test files run beside each other, so it appears whole. */
function unpacked(kind: string): string {
  const digest = createHash("sha256")
    .update(readFileSync(archiveOf(kind)))
    .digest("hex")
    .slice(0, 12);
  const dir = join(import.meta.dirname, "../../.cache/corpus", `${kind}-${digest}`);
  if (existsSync(dir)) return dir;
  mkdirSync(dirname(dir), { recursive: true });
  const fresh = mkdtempSync(`${dir}-`);
  unpack(fresh, kind);
  try {
    renameSync(join(fresh, kind), dir);
  } catch (error) {
    if (!existsSync(dir)) throw error;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return dir;
}
