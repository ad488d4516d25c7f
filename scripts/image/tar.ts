/** Entries in; a tar archive out that is the same, byte for byte, whoever makes it and when. */
import { readFileSync } from "node:fs";
import type { Entry } from "./entry.ts";

const block = 512;

export function tarOf(entries: readonly Entry[]): Buffer {
  return Buffer.concat([...entries.flatMap(parts), Buffer.alloc(2 * block)]);
}

export function contentOf(entry: Extract<Entry, { readonly type: "file" }>): Buffer {
  return "bytes" in entry.content ? entry.content.bytes : readFileSync(entry.content.from);
}

function parts(entry: Entry): readonly Buffer[] {
  const path = entry.path.slice(1);
  switch (entry.type) {
    case "folder":
      return [header({ path: `${path}/`, type: "5", mode: entry.mode, size: 0, owner: entry.owner })];
    case "link":
      return [header({ path, type: "2", mode: 0o777, size: 0, target: entry.target })];
    case "file": {
      const content = contentOf(entry);
      const rest = Buffer.alloc((block - (content.length % block)) % block);
      return [header({ path, type: "0", mode: entry.mode, size: content.length }), content, rest];
    }
  }
}

interface Header {
  readonly path: string;
  readonly type: "0" | "2" | "5";
  readonly mode: number;
  readonly size: number;
  readonly owner?: number;
  readonly target?: string;
}

/** ustar, which has room for names of 100 bytes after a folder of 155; times are those of no file. */
function header({ path, type, mode, size, owner = 0, target = "" }: Header): Buffer {
  const out = Buffer.alloc(block);
  const [prefix, name] = split(path);
  const octal = (value: number, at: number, length: number): void => {
    out.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at, "latin1");
  };
  out.write(name, 0, "utf8");
  octal(mode, 100, 8);
  octal(owner, 108, 8);
  octal(owner, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  out.write(" ".repeat(8), 148, "latin1");
  out.write(type, 156, "latin1");
  out.write(fits(target, 100), 157, "utf8");
  out.write("ustar\x0000", 257, "latin1");
  out.write(prefix, 345, "utf8");
  const sum = out.reduce((total, byte) => total + byte, 0);
  out.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return out;
}

function split(path: string): readonly [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= 100) return ["", path];
  const at = path.indexOf("/", path.length - 101);
  return [fits(path.slice(0, at), 155), fits(path.slice(at + 1), 100)];
}

function fits(text: string, bytes: number): string {
  if (Buffer.byteLength(text) > bytes) throw new Error(`${text} is too long for an archive`);
  return text;
}
