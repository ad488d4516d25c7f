/**
 * A damaged store file in; the objects whose records are whole out. Each record carries a checksum over its key and its
 * value, so every page is looked at by itself, whatever the trees above it say. Of several versions of an object the
 * newest counts; one that was deleted shortly before may come back, which is said.
 */
import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { isRecord, parseJson } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { StoredObject } from "./store-file.ts";

export interface Salvaged {
  readonly objects: readonly StoredObject[];
  readonly version: number;
}

const headerBytes = 24;
const leaf = 0x02;
const bigData = 0x01;
const pageSizes = [4096, 8192, 16384, 32768, 65536];

export function salvageStore(path: string): Salvaged {
  const file = readFileSync(path);
  const [best] = pageSizes
    .map((pageBytes) => scan(file, pageBytes))
    .sort((a, b) => b.objects.length - a.objects.length);
  return best ?? { objects: [], version: 1 };
}

function scan(file: Buffer, pageBytes: number): Salvaged {
  const found = new Map<string, StoredObject>();
  let version = 1;
  for (let at = 0; at + pageBytes <= file.length; at += pageBytes)
    for (const { name, text } of recordsOf(file, at, pageBytes)) {
      if (name === "version") version = Math.max(version, Number(text) || 1);
      const record = name.startsWith("o|") ? objectOf(name, text) : undefined;
      const known = record && found.get(name);
      if (record && (!known || versionOf(known.object) < versionOf(record.object))) found.set(name, record);
    }
  const objects = [...found.values()];
  return { objects, version: objects.reduce((max, { object }) => Math.max(max, versionOf(object)), version) };
}

interface Sealed {
  readonly name: string;
  readonly text: string;
}

function* recordsOf(file: Buffer, page: number, pageBytes: number): Generator<Sealed> {
  if ((file.readUInt16LE(page + 18) & 0x0f) !== leaf) return;
  const lower = file.readUInt16LE(page + 20);
  for (let i = 0; i < lower / 2 && headerBytes + 2 * i + 2 <= pageBytes; i++) {
    const at = page + headerBytes + file.readUInt16LE(page + headerBytes + 2 * i);
    if (at + 8 > page + pageBytes) continue;
    const record = recordAt(file, at, page + pageBytes, pageBytes);
    if (record) yield record;
  }
}

/** A record is taken only where its checksum says so; everything before that is a guess. */
function recordAt(file: Buffer, at: number, end: number, pageBytes: number): Sealed | undefined {
  const length = file.readUInt16LE(at) | (file.readUInt16LE(at + 2) << 16);
  const start = at + 8 + file.readUInt16LE(at + 6);
  if (start > end || length < 4) return undefined;
  // LMDB's own keys of text end with a zero byte.
  const name = file.toString("utf8", at + 8, start).replace(/\0+$/, "");
  const big = (file.readUInt16LE(at + 4) & bigData) !== 0;
  if (big && start + 8 > end) return undefined;
  const from = big ? Number(file.readBigUInt64LE(start)) * pageBytes + headerBytes : start;
  if (from + length > (big ? file.length : end)) return undefined;
  const body = file.subarray(from + 4, from + length);
  return file.readUInt32BE(from) === crc32(body, crc32(name)) ? { name, text: body.toString() } : undefined;
}

function objectOf(name: string, text: string): StoredObject | undefined {
  const [, resource, key] = name.split("|");
  try {
    const object = parseJson(text);
    if (resource === undefined || key === undefined || !isRecord(object) || !isRecord(object.metadata))
      return undefined;
    return { resource, key, object: object as unknown as KubeObject };
  } catch {
    return undefined;
  }
}

const versionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion) || 0;
