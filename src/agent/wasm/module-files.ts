/**
 * The folder that modules are kept in, in; which of them are there and whole out. What is in it is believed only as far as
 * it can be checked: a link, a file of another size or one that no list names counts for nothing.
 */
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isRecord, parseJson } from "../../lib/index.ts";
import { replaceSecretFile } from "../../pki/index.ts";
import { sha256 } from "./registry.ts";
import { isModule } from "./unpack.ts";

export interface Entry {
  readonly url: string;
  readonly checksum: string;
  /** Of the module itself, which names its file. */
  readonly content: string;
  /** Of the module. */
  readonly bytes: number;
  lastMs: number;
  /** By resource, the version that last had it. */
  readonly versions: Map<string, string>;
}

export interface ModuleFiles {
  /** As the list has them that was written last. */
  readonly entries: readonly Entry[];
  pathOf(entry: Pick<Entry, "content">): string;
  /** Whether its file is as it was written; read once for each start, and looked at every time. */
  isSound(entry: Entry): Promise<boolean>;
  write(content: string, bytes: Uint8Array): Promise<void>;
  remove(entry: Entry): void;
  writeList(entries: readonly Entry[]): Promise<void>;
}

const maxListBytes = 1024 * 1024;
const listName = "index.json";

export function openModuleFiles(folder: string): ModuleFiles {
  const pathOf: ModuleFiles["pathOf"] = ({ content }) => join(folder, `${content}.wasm`);
  const entries = readEntries(join(folder, listName));
  sweep(folder, new Set(entries.map(pathOf)));
  const proven = new Set<string>();
  const make = (): void => void mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    entries,
    pathOf,
    async isSound(entry) {
      const path = pathOf(entry);
      const about = await lstat(path).catch(() => undefined);
      if (!about?.isFile() || about.size !== entry.bytes) return false;
      if (proven.has(entry.content)) return true;
      const bytes = await readFile(path).catch(() => undefined);
      if (!bytes || !isModule(bytes) || sha256(bytes) !== entry.content) return false;
      proven.add(entry.content);
      return true;
    },
    async write(content, bytes) {
      make();
      await replaceSecretFile(pathOf({ content }), bytes);
      proven.add(content);
    },
    remove(entry) {
      proven.delete(entry.content);
      rmSync(pathOf(entry), { force: true });
    },
    async writeList(kept) {
      make();
      await replaceSecretFile(join(folder, listName), JSON.stringify(kept.map(({ versions: _, ...entry }) => entry)));
    },
  };
}

/** Modules, and what an agent that was killed had half written, in names that only this cache gives. */
function sweep(folder: string, kept: ReadonlySet<string>): void {
  try {
    for (const name of readdirSync(folder))
      if (/^(?:[0-9a-f]{64}\.wasm|\.[0-9a-f]{16}\.tmp)$/.test(name) && !kept.has(join(folder, name)))
        rmSync(join(folder, name), { force: true });
  } catch {
    // There is no folder yet, or it is not ours to write: then the first module tells.
  }
}

function readEntries(file: string): readonly Entry[] {
  try {
    const about = lstatSync(file);
    const parsed: unknown =
      about.isFile() && about.size <= maxListBytes ? parseJson(readFileSync(file, "utf8")) : undefined;
    return (Array.isArray(parsed) ? parsed : []).flatMap((one: unknown) => entryOf(one) ?? []);
  } catch {
    // The first start, or a list that was cut off: everything is fetched again.
    return [];
  }
}

function entryOf(value: unknown): Entry | undefined {
  if (!isRecord(value)) return undefined;
  const { url, checksum, content, bytes, lastMs } = value;
  if (typeof url !== "string" || typeof checksum !== "string") return undefined;
  if (typeof lastMs !== "number" || typeof bytes !== "number") return undefined;
  if (typeof content !== "string" || !/^[0-9a-f]{64}$/.test(content)) return undefined;
  return { url, checksum, content, bytes, lastMs, versions: new Map() };
}
