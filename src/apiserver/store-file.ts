/**
 * The file behind the store, an LMDB environment: records in, records out, each with a checksum over its key and value.
 * A file that cannot be trusted is refused by name; it is never read as if it were empty.
 */
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { crc32 } from "node:zlib";
import { FairleadError, isDiskFull, isRecord, parseJson, readNumber, readRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { checkStoreFile } from "./store-check.ts";
import { type Database, openDatabase, openStoreDatabase } from "./store-database.ts";
import { migrateRecords, type Records, type StoreFormats, storeFormats } from "./store-format.ts";
import { openRoom, type Room } from "./store-room.ts";

export interface StoredObject {
  readonly resource: string;
  readonly key: string;
  readonly object: KubeObject;
}

export interface RecordWrite {
  readonly resource: string;
  readonly key: string;
  /** The object as JSON; undefined deletes. */
  readonly text: string | undefined;
}

export interface StoreFile {
  readonly objects: readonly StoredObject[];
  readonly version: number;
  /** All or nothing; on disk when it returns. */
  commit(writes: readonly RecordWrite[], version: number): void;
  close(): Promise<void>;
}

const formatKey = "format";
const versionKey = "version";

const idKey = "id";

/**
 * Stands beside the file once something has been stored: from then on an empty or missing file is a loss, not a first start.
 * It has the store's id: one of another mesh, put there by mistake, is not served as if it were this one's.
 */
const markerOf = (path: string): string => `${path}.in-use`;

export function openStoreFile(path: string, formats: StoreFormats = storeFormats): StoreFile {
  const checked = checkStoreFile(path);
  if (typeof checked === "object") throw damaged(path, checked.damage);
  if (checked === "absent" && existsSync(markerOf(path))) throw damaged(path, "it is empty or missing");
  // Secrets are in it: nobody else may read it, not even for the moment before its mode could be changed.
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
  const room = openRoom(path);
  let committed = 0;
  const renewed = (db: Database): void => {
    checkVersion(db, path, committed);
    room.giveBack(endOf(db));
  };
  const database = openOrTell(path, () => openStoreDatabase(path, renewed));
  try {
    const content = readAll(database.current, path, formats, true);
    identify(database.current, room, path);
    committed = content.version;
    return {
      ...content,
      commit(writes, version) {
        database.write((db) => commit(db, room, writes, version));
        committed = version;
      },
      async close() {
        room.close();
        await database.close();
      },
    };
  } catch (error) {
    void database.close();
    throw error;
  }
}

function identify(db: Database, room: Room, path: string): void {
  const marker = markerOf(path);
  const value = db.get(idKey);
  const known = value === undefined ? "" : unseal(path, idKey, value);
  const marked = existsSync(marker) ? readFileSync(marker, "utf8") : "";
  if (marked !== "" && marked !== known) throw anotherStore(path, marker);
  if (marked !== "") return;
  const id = known === "" ? randomUUID() : known;
  try {
    takeRoom(db, room, [id.length]);
    if (known === "") db.putSync(idKey, seal(idKey, id));
    writeFileSync(marker, id);
  } catch (error) {
    // A store of before there were ids is served from a full disk too, and gets one later.
    if (!isDiskFull(error)) throw error;
  }
}

function anotherStore(path: string, marker: string): FairleadError {
  return new FairleadError("storage", `${path} is not the store that was here before`, {
    hint: `put the right file back; if this one is meant, remove ${marker}`,
  });
}

/** What a store holds, at one moment of it, also while another process writes. */
export async function readStoreFile(path: string): Promise<{ objects: readonly StoredObject[]; version: number }> {
  // LMDB opens an empty file to read it, and ends the process at the first record.
  if (statSync(path).size === 0) throw damaged(path, "it is empty");
  const db = openOrTell(path, () => openDatabase(path, true));
  try {
    return readAll(db, path, storeFormats, false);
  } finally {
    await db.close();
  }
}

function openOrTell<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw damaged(path, error instanceof Error ? error.message : "it cannot be opened", error);
  }
}

/** An environment that was opened again: what was refused must not have become visible meanwhile. */
function checkVersion(db: Database, path: string, version: number): void {
  const value = db.get(versionKey);
  const found = value === undefined ? 1 : Number(unseal(path, versionKey, value));
  if (found === version) return;
  throw new FairleadError("storage", `the store cannot be written: a write that failed is in ${path} nevertheless`, {
    hint: "start the API again: it then serves what is there",
  });
}

/**
 * In the foreground: LMDB's queue for writes in the background leaves rejections behind that nobody can catch when the
 * disk is full. Writers that come meanwhile share the next transaction, so the time of one sync is what they wait.
 */
function commit(db: Database, room: Room, writes: readonly RecordWrite[], version: number): void {
  const records = writes.map(({ resource, key, text }) => {
    const name = `o|${resource}|${key}`;
    return { name, value: text === undefined ? undefined : seal(name, text) };
  });
  takeRoom(
    db,
    room,
    records.map(({ value }) => value?.length ?? 0),
  );
  db.transactionSync(() => {
    for (const { name, value } of records) {
      if (value !== undefined) db.putSync(name, value);
      else db.removeSync(name);
    }
    db.putSync(versionKey, seal(versionKey, String(version)));
  });
}

/** Pages that are written anew with each record, from its leaf to the root; and those of the lists of free ones. */
const [pagesPerRecord, pagesMore] = [8, 64];

/** As if no page that is free could be used again. */
function takeRoom(db: Database, room: Room, sizes: readonly number[]): void {
  const page = pageSizeOf(db);
  const pages = sizes.reduce((sum, size) => sum + Math.ceil(size / page) + pagesPerRecord, pagesMore);
  room.take(endOf(db), pages * page);
}

const pageSizeOf = (db: Database): number => readNumber(readRecord(db.getStats()).pageSize) ?? 4096;

/** Where nothing is in use from there on. */
function endOf(db: Database): number {
  const last = readNumber(readRecord(db.getStats()).lastPageNumber);
  if (last === undefined)
    throw new FairleadError("storage", "the store cannot be written: it does not say where it ends");
  return (last + 1) * pageSizeOf(db);
}

/** `writes`: what is read of an older format is in today's format on disk afterwards. */
function readAll(
  db: Database,
  path: string,
  formats: StoreFormats,
  writes: boolean,
): { objects: readonly StoredObject[]; version: number } {
  const texts = new Map<string, string>();
  for (const { key, value } of entries(db, path)) texts.set(key, unseal(path, key, value));
  const format = texts.get(formatKey);
  if (format === undefined) {
    if (texts.size > 0) throw damaged(path, "it has no format version");
    db.putSync(formatKey, seal(formatKey, String(formats.current)));
    return { objects: [], version: 1 };
  }
  const records = migrateRecords(path, Number(format), texts, formats);
  if (records !== texts && writes) replaceRecords(db, path, texts, records, formats.current);
  const objects = [...records].flatMap(([key, text]) => (key.startsWith("o|") ? [parseRecord(path, key, text)] : []));
  const newest = objects.reduce((max, { object }) => Math.max(max, Number(object.metadata.resourceVersion)), 1);
  const version = Number(records.get(versionKey) ?? 1);
  if (version < newest) throw damaged(path, "an object is newer than the store");
  return { objects, version };
}

/** All or nothing; what was there before stays beside, for the version of Fairlead that wrote it. */
function replaceRecords(db: Database, path: string, before: Records, after: Records, format: number): void {
  copyFileSync(path, `${path}.format-${before.get(formatKey)}`);
  db.transactionSync(() => {
    for (const key of before.keys()) if (!after.has(key)) db.removeSync(key);
    for (const [key, text] of after) if (before.get(key) !== text) db.putSync(key, seal(key, text));
    db.putSync(formatKey, seal(formatKey, String(format)));
  });
}

function entries(db: Database, path: string): readonly { readonly key: string; readonly value: Buffer }[] {
  try {
    // Copies: the buffers that LMDB hands out are only good until the next read.
    return [...db.getRange()].map(({ key, value }) => ({ key, value: Buffer.from(value) }));
  } catch (error) {
    throw damaged(path, error instanceof Error ? error.message : "it cannot be read", error);
  }
}

function parseRecord(path: string, name: string, text: string): StoredObject {
  const [, resource, key] = name.split("|");
  const object = parseJson(text);
  if (resource === undefined || key === undefined || !isRecord(object))
    throw damaged(path, `the record ${name} is not an object`);
  return { resource, key, object: object as unknown as KubeObject };
}

function seal(name: string, text: string): Buffer {
  const body = Buffer.from(text);
  const out = Buffer.allocUnsafe(4 + body.length);
  out.writeUInt32BE(crc32(body, crc32(name)), 0);
  body.copy(out, 4);
  return out;
}

function unseal(path: string, name: string, value: Buffer): string {
  const body = value.subarray(4);
  if (value.length < 4 || value.readUInt32BE(0) !== crc32(body, crc32(name)))
    throw damaged(path, `the checksum of ${name} is wrong`);
  return body.toString();
}

function damaged(path: string, why: string, cause?: unknown): FairleadError {
  return new FairleadError("storage", `the store ${path} is damaged: ${why}`, {
    cause,
    hint: "restore a backup, or save what can be read: fairlead backup FILE --salvage",
  });
}
