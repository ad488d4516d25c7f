/** What an istiod was seen to answer, as data of this repository. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import type { Said } from "./run.ts";

const file = join(import.meta.dirname, "istiod.json.br");

export function readKept(): ReadonlyMap<string, Said> {
  return new Map(
    Object.entries(JSON.parse(brotliDecompressSync(readFileSync(file)).toString()) as Record<string, Said>),
  );
}

export function writeKept(said: ReadonlyMap<string, Said>): void {
  writeFileSync(file, brotliCompressSync(JSON.stringify(Object.fromEntries(said))));
}
