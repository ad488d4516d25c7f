/**
 * The path of an LMDB file in, nothing or the reason why it must not be opened out. LMDB maps the file into memory and
 * trusts it: a truncated or overwritten file would end the process by a signal instead of an error. So every page that
 * can be reached from the newest root is looked at first.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { systemCode } from "../lib/index.ts";

const headerBytes = 24;
const magic = 0xbeefc0de;
const dataVersion = 2;
const none = 0xffffffffffffffffn;
const flags = { branch: 0x01, leaf: 0x02, overflow: 0x04, meta: 0x08 };
const bigData = 0x01;
const maxDepth = 32;

interface Tree {
  readonly depth: number;
  readonly entries: number;
  readonly root: bigint;
}

interface Meta {
  readonly transaction: bigint;
  readonly pageBytes: number;
  readonly trees: readonly Tree[];
}

type Verdict = "absent" | "good" | { readonly damage: string };

export function checkStoreFile(path: string): Verdict {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return "absent";
    return { damage: `it cannot be read (${systemCode(error)})` };
  }
  try {
    const size = fstatSync(file).size;
    if (size === 0) return "absent";
    const meta = readMeta(file, size);
    for (const tree of meta.trees) checkTree(file, size, meta, tree);
    return "good";
  } catch (error) {
    return { damage: error instanceof Error ? error.message : "it cannot be read" };
  } finally {
    closeSync(file);
  }
}

/** Two meta pages are written in turn; the one of the later transaction counts. */
function readMeta(file: number, size: number): Meta {
  const first = metaAt(file, size, 0, 4096);
  const second = metaAt(file, size, first.pageBytes, first.pageBytes);
  return second.transaction > first.transaction ? second : first;
}

function metaAt(file: number, size: number, offset: number, bytes: number): Meta {
  const page = read(file, size, offset, Math.min(bytes, 4096));
  if ((page.readUInt16LE(18) & flags.meta) === 0 || page.readUInt32LE(headerBytes) !== magic)
    throw new Error("its header is not that of a store");
  if ((page.readUInt32LE(headerBytes + 4) & 0xffff) !== dataVersion)
    throw new Error("its header names another version of LMDB");
  const pageBytes = page.readUInt32LE(48);
  if (pageBytes < 512 || pageBytes > 65536 || (pageBytes & (pageBytes - 1)) !== 0)
    throw new Error("its page size is not possible");
  return { transaction: page.readBigUInt64LE(152), pageBytes, trees: [treeAt(page, 48), treeAt(page, 96)] };
}

function treeAt(page: Buffer, at: number): Tree {
  return {
    depth: page.readUInt16LE(at + 6),
    entries: Number(page.readBigUInt64LE(at + 32)),
    root: page.readBigUInt64LE(at + 40),
  };
}

function checkTree(file: number, size: number, meta: Meta, tree: Tree): void {
  if (tree.root === none) return;
  if (tree.depth > maxDepth) throw new Error("a tree is deeper than possible");
  const entries = checkPage(file, size, meta, tree.root, tree.depth);
  if (entries !== tree.entries) throw new Error(`it has ${entries} entries instead of ${tree.entries}`);
}

/** The number of entries below the page. */
function checkPage(file: number, size: number, meta: Meta, number: bigint, depth: number): number {
  const page = readPage(file, size, meta, number);
  const kind = page.readUInt16LE(18) & 0x0f;
  if (kind !== (depth > 1 ? flags.branch : flags.leaf)) throw new Error(`page ${number} is not what its tree says`);
  const nodes = nodesOf(page, number);
  if (kind === flags.leaf) {
    for (const node of nodes) checkValue(file, size, meta, page, node, number);
    return nodes.length;
  }
  return nodes.reduce((sum, node) => sum + checkPage(file, size, meta, childOf(page, node), depth - 1), 0);
}

function nodesOf(page: Buffer, number: bigint): readonly number[] {
  const [lower, upper] = [page.readUInt16LE(20), page.readUInt16LE(22)];
  if (lower > upper || upper + headerBytes > page.length || lower % 2 !== 0)
    throw new Error(`page ${number} has a bad header`);
  return Array.from({ length: lower / 2 }, (_, i) => {
    const at = page.readUInt16LE(headerBytes + 2 * i) + headerBytes;
    if (at < upper + headerBytes || at + 8 > page.length || at + 8 + page.readUInt16LE(at + 6) > page.length)
      throw new Error(`page ${number} has a bad entry`);
    return at;
  });
}

function childOf(page: Buffer, node: number): bigint {
  const [low, high, top] = [page.readUInt16LE(node), page.readUInt16LE(node + 2), page.readUInt16LE(node + 4)];
  return BigInt(low) | (BigInt(high) << 16n) | (BigInt(top) << 32n);
}

function checkValue(file: number, size: number, meta: Meta, page: Buffer, node: number, number: bigint): void {
  const length = page.readUInt16LE(node) | (page.readUInt16LE(node + 2) << 16);
  const start = node + 8 + page.readUInt16LE(node + 6);
  if ((page.readUInt16LE(node + 4) & bigData) === 0) {
    if (start + length > page.length) throw new Error(`page ${number} has a bad entry`);
    return;
  }
  const first = page.readBigUInt64LE(start);
  const overflow = readPage(file, size, meta, first);
  const pages = overflow.readUInt32LE(20);
  if ((overflow.readUInt16LE(18) & 0x0f) !== flags.overflow || pages * meta.pageBytes < headerBytes + length)
    throw new Error(`page ${first} is not the value that page ${number} refers to`);
  if ((Number(first) + pages) * meta.pageBytes > size) throw new Error("its end is missing");
}

function readPage(file: number, size: number, meta: Meta, number: bigint): Buffer {
  const page = read(file, size, Number(number) * meta.pageBytes, meta.pageBytes);
  if (page.readBigUInt64LE(0) !== number) throw new Error(`page ${number} is not where it should be`);
  return page;
}

function read(file: number, size: number, offset: number, length: number): Buffer {
  if (offset + length > size) throw new Error("its end is missing");
  const page = Buffer.allocUnsafe(length);
  if (readSync(file, page, 0, length, offset) !== length) throw new Error("its end is missing");
  return page;
}
