/**
 * Records of a store in, one file out, and back. The file is compressed lines of JSON: a head with the format's version,
 * the records, and an end that counts them and has their checksum, so that a file cut short is never taken for a whole one.
 */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StringDecoder } from "node:string_decoder";
import { createGunzip, createGzip } from "node:zlib";
import { FairleadError, fileLimits, isRecord, ownerOf, type ParseLimits, parseJson } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { StoredObject } from "./store-file.ts";

const format = 1;
/** Of one line: more than an object of the store can have. */
const limits: ParseLimits = { ...fileLimits, maxBytes: 8 * 1024 * 1024 };

export interface BackupHead {
  /** The store's version: the restored one goes on from it, so that no version is ever given twice. */
  readonly version: number;
  readonly created: string;
}

/** A key or certificate of the API itself, beside the store. */
export interface BackupKey {
  readonly file: string;
  /** Base64. */
  readonly content: string;
}

export interface Backup extends BackupHead {
  readonly objects: readonly StoredObject[];
  readonly keys: readonly BackupKey[];
}

/** Private to the user from its first byte; whole or not there. */
export async function writeBackup(path: string, backup: Backup): Promise<void> {
  const part = partOf(path, process.pid);
  try {
    removeAbandonedParts(path);
    await pipeline(
      Readable.from(linesOf(backup)),
      createGzip(),
      createWriteStream(part, { flags: "wx", mode: 0o600, flush: true }),
    );
    renameSync(part, path);
  } catch (error) {
    rmSync(part, { force: true });
    throw new FairleadError("storage", `${path} cannot be written: ${FairleadError.from(error).message}`, {
      cause: error,
      hint: "choose a folder with room that you may write to",
    });
  }
}

/** Of its own for each process: two that write to one file at a time do not mix. */
const partOf = (path: string, pid: number): string => `${path}.${pid}.part`;

/** One that was killed has left what it had written, with all the keys in it. */
function removeAbandonedParts(path: string): void {
  const prefix = `${basename(path)}.`;
  for (const name of readdirSync(dirname(path))) {
    const [, pid] = /^(\d+)\.part$/.exec(name.startsWith(prefix) ? name.slice(prefix.length) : "") ?? [];
    if (pid !== undefined && (Number(pid) === process.pid || !ownerOf(Number(pid)))) rmSync(partOf(path, Number(pid)));
  }
}

function* linesOf({ version, created, objects, keys }: Backup): Generator<string> {
  const sum = createHash("sha256");
  let count = 0;
  const line = (value: object): string => {
    const text = `${JSON.stringify(value)}\n`;
    sum.update(text);
    count++;
    return text;
  };
  yield line({ fairlead: "backup", format, version, created });
  for (const { file, content } of keys) yield line({ file, content });
  for (const { resource, key, object } of objects) yield line({ resource, key, object });
  yield `${JSON.stringify({ end: count, sha256: sum.digest("hex") })}\n`;
}

export async function readBackup(path: string): Promise<Backup> {
  const sum = createHash("sha256");
  const objects: StoredObject[] = [];
  const keys: BackupKey[] = [];
  let head: BackupHead | undefined;
  let ended = false;
  let count = 0;
  const take = (text: string): void => {
    const line = parseJson(text, limits);
    if (!isRecord(line) || ended) throw new Error(`line ${count + 1} is none of a backup's`);
    if (line.end !== undefined) {
      if (line.end !== count || line.sha256 !== sum.digest("hex")) throw new Error("its checksum is wrong");
      ended = true;
      return;
    }
    sum.update(`${text}\n`);
    count++;
    if (count === 1) head = headOf(line);
    else if (typeof line.file === "string") keys.push(keyOf(line));
    else objects.push(objectOf(line, count));
  };
  try {
    // Damage may show in the compressed bytes and in a line at once: whichever is first ends it all.
    await pipeline(createReadStream(path), createGunzip(), async (bytes: AsyncIterable<Buffer>) => {
      for await (const line of linesIn(bytes)) take(line);
    });
  } catch (error) {
    if (error instanceof FairleadError && error.code === "storage") throw error;
    throw unusable(path, FairleadError.from(error).message, error);
  }
  if (!head || !ended) throw unusable(path, "its end is missing");
  return { ...head, objects, keys };
}

async function* linesIn(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const piece of bytes) {
    const lines = (rest + decoder.write(piece)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > limits.maxBytes) throw new Error("a line of it is too long");
    yield* lines;
  }
  if (rest !== "") yield rest;
}

function headOf(line: Readonly<Record<string, unknown>>): BackupHead {
  if (line.fairlead !== "backup" || typeof line.version !== "number") throw new Error("it is not a backup");
  if (line.format !== format)
    throw new FairleadError("storage", `the backup has format ${line.format}; this Fairlead reads format ${format}`, {
      hint: "restore it with the version of Fairlead that wrote it",
    });
  return { version: line.version, created: String(line.created) };
}

/** A plain name: a backup from elsewhere must not write outside the folder. */
function keyOf({ file, content }: Readonly<Record<string, unknown>>): BackupKey {
  if (typeof file !== "string" || typeof content !== "string" || !/^[a-z][a-z0-9.-]*$/.test(file))
    throw new Error("a file in it has no plain name");
  return { file, content };
}

function objectOf({ resource, key, object }: Readonly<Record<string, unknown>>, count: number): StoredObject {
  if (typeof resource !== "string" || typeof key !== "string" || !isRecord(object) || !isRecord(object.metadata))
    throw new Error(`line ${count} is not a record`);
  return { resource, key, object: object as unknown as KubeObject };
}

function unusable(path: string, why: string, cause?: unknown): FairleadError {
  return new FairleadError("storage", `${path} cannot be restored: ${why}`, {
    cause,
    hint: "use another backup; nothing was changed",
  });
}
