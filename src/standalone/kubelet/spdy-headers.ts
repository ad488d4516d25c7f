/** The packed headers of a SPDY connection, block after block, in; names and values out. */
import { constants, createInflate } from "node:zlib";
import { spdyDictionary } from "./spdy-dictionary.ts";

const maxBlockBytes = 16 * 1024;
const maxHeaders = 64;

export interface HeaderReader {
  /** Undefined for what cannot be unpacked or is too much: no later block can be read then either. */
  read(packed: Buffer): Promise<ReadonlyMap<string, string> | undefined>;
  close(): void;
}

/** All blocks of a connection are one stream of zlib. */
export function createHeaderReader(): HeaderReader {
  const inflate = createInflate({ dictionary: spdyDictionary, flush: constants.Z_SYNC_FLUSH });
  let [pieces, size] = [[] as Buffer[], 0];
  inflate.on("error", () => {});
  inflate.on("data", (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
    if (size > maxBlockBytes) inflate.destroy();
  });
  return {
    async read(packed) {
      [pieces, size] = [[], 0];
      await new Promise<void>((resolve) => {
        inflate.once("close", resolve);
        inflate.write(packed, () => {
          inflate.off("close", resolve);
          resolve();
        });
      });
      return inflate.destroyed ? undefined : parseBlock(Buffer.concat(pieces));
    },
    close: () => void inflate.destroy(),
  };
}

/** A count, then names and values, each with its length before it. */
function parseBlock(block: Buffer): ReadonlyMap<string, string> | undefined {
  let at = 0;
  const number = (): number => {
    if (at + 4 > block.length) return Number.POSITIVE_INFINITY;
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  const text = (): string | undefined => {
    const length = number();
    if (at + length > block.length) return undefined;
    at += length;
    return block.toString("utf8", at - length, at);
  };
  const count = number();
  if (count > maxHeaders) return undefined;
  const headers = new Map<string, string>();
  for (let i = 0; i < count; i++) {
    const [name, value] = [text(), text()];
    if (name === undefined || value === undefined) return undefined;
    headers.set(name.toLowerCase(), value);
  }
  return headers;
}
