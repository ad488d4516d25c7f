/** The API's folder in, a backup of it out, also while it runs; and a backup in, the folder as it was then out. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FairleadError } from "../lib/index.ts";
import { readBackup, writeBackup } from "./backup-file.ts";
import { type Salvaged, salvageStore } from "./salvage.ts";
import { checkStoreFile } from "./store-check.ts";
import { openStoreFile, readStoreFile, type StoredObject } from "./store-file.ts";

export interface BackupOptions {
  readonly apiDir: string;
  readonly file: string;
  readonly now: Date;
  /** A process holds the folder: its store is read as LMDB shows it to a second reader. */
  readonly inUse: boolean;
  /** Takes what can be read of a damaged store. */
  readonly salvage: boolean;
}

export interface BackupReport {
  readonly objects: number;
  readonly version: number;
}

const storeName = "store.mdb";
const isKey = (name: string): boolean => /\.(key|crt|pem)$/.test(name);

export async function backUp(options: BackupOptions): Promise<BackupReport> {
  const store = join(options.apiDir, storeName);
  if (!existsSync(store))
    throw new FairleadError("not-found", `there is no store in ${options.apiDir}`, {
      hint: "name the data folder with --data DIR",
    });
  const { objects, version } = await readStore(store, options);
  const keys = readdirSync(options.apiDir)
    .filter(isKey)
    .map((file) => ({ file, content: readFileSync(join(options.apiDir, file)).toString("base64") }));
  await writeBackup(options.file, { objects, version, keys, created: options.now.toISOString() });
  return { objects: objects.length, version };
}

async function readStore(
  store: string,
  { inUse, salvage }: BackupOptions,
): Promise<{ objects: readonly StoredObject[]; version: number }> {
  if (salvage) return salvaged(store);
  const checked = inUse ? "good" : checkStoreFile(store);
  if (typeof checked !== "object") return await readStoreFile(store);
  throw new FairleadError("storage", `the store ${store} is damaged: ${checked.damage}`, {
    hint: "save what can be read: fairlead backup FILE --salvage",
  });
}

/** A backup of nothing would be taken for one of a mesh without objects, and restored over what others have. */
function salvaged(store: string): Salvaged {
  const found = salvageStore(store);
  if (found.objects.length > 0) return found;
  throw new FairleadError("storage", `nothing of the store ${store} can be read`, {
    hint: "restore an earlier backup",
  });
}

export interface RestoreOptions {
  readonly apiDir: string;
  readonly file: string;
  /** Replaces a store that is there; it is kept under another name. */
  readonly replace: boolean;
  readonly now: Date;
}

export interface RestoreReport extends BackupReport {
  readonly created: string;
  /** Where the store that was there is now. */
  readonly moved: string | undefined;
}

/**
 * Versions that were given out after the backup must not be given out again: a client that has one would take what is
 * new for what it knows. So a restored store goes on far beyond them, and such clients are told to list anew.
 */
const leap = 1_000_000_000;

/** The whole backup is read and checked before anything is changed. */
export async function restore({ apiDir, file, replace, now }: RestoreOptions): Promise<RestoreReport> {
  const backup = await readBackup(file);
  const there = existsSync(join(apiDir, storeName));
  if (there && !replace)
    throw new FairleadError("already-exists", `${apiDir} has a store already`, {
      hint: "choose another folder with --data DIR, or say --replace: the old one is kept beside it",
    });
  const moved = existsSync(apiDir) ? `${apiDir}.before-${now.toISOString().replace(/[:.]/g, "-")}` : undefined;
  const next = `${apiDir}.restoring-${process.pid}`;
  mkdirSync(next, { recursive: true, mode: 0o700 });
  for (const key of backup.keys)
    writeFileSync(join(next, key.file), Buffer.from(key.content, "base64"), { mode: 0o600, flag: "wx" });
  const store = openStoreFile(join(next, storeName));
  const version = backup.version + leap;
  store.commit(
    backup.objects.map(({ resource, key, object }) => ({ resource, key, text: JSON.stringify(object) })),
    version,
  );
  await store.close();
  if (moved !== undefined) renameSync(apiDir, moved);
  renameSync(next, apiDir);
  return { objects: backup.objects.length, version, created: backup.created, moved };
}
