/** Bytes as they were fetched in; the Wasm module that is in them, bare, compressed or in an archive, out. Never more than asked for. */
import { basename } from "node:path";
import { promisify } from "node:util";
import { gunzip as gunzipCallback } from "node:zlib";
import { FairleadError, systemCode } from "../../lib/index.ts";

const magic = Buffer.from([0x00, 0x61, 0x73, 0x6d]);

/** Magic number and version. */
export const isModule = (bytes: Uint8Array): boolean => bytes.length >= 8 && magic.equals(bytes.subarray(0, 4));

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

const isTar = (bytes: Uint8Array): boolean =>
  bytes.length > 262 && Buffer.from(bytes.subarray(257, 262)).toString("latin1") === "ustar";

/** Coats beyond these are no module that anybody made. */
const maxCoats = 4;

/** What an HTTP server gives out: a module, or one that is the first file of an archive. */
export async function unpackModule(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  let found = bytes;
  for (let coat = 0; coat < maxCoats && !isModule(found); coat++) {
    if (isGzip(found)) found = await gunzip(found, maxBytes);
    else if (isTar(found)) found = tarFiles(found).next().value?.bytes ?? found;
    else break;
  }
  return found;
}

/** What is in a layer of an image: the file of that name. */
export async function fileOfLayer(layer: Uint8Array, name: string, maxBytes: number): Promise<Uint8Array> {
  const archive = isGzip(layer) ? await gunzip(layer, maxBytes) : layer;
  for (const file of tarFiles(archive)) if (basename(file.name) === name) return file.bytes;
  throw new FairleadError("not-found", `the image has no ${name} in its last layer`);
}

const inflate = promisify<Uint8Array, { readonly maxOutputLength: number }, Buffer>(gunzipCallback);

async function gunzip(bytes: Uint8Array, maxOutputLength: number): Promise<Uint8Array> {
  try {
    return await inflate(bytes, { maxOutputLength });
  } catch (error) {
    if (systemCode(error) === "ERR_BUFFER_TOO_LARGE")
      throw new FairleadError("too-large", `what was fetched becomes more than ${maxOutputLength} bytes`);
    throw new FairleadError("invalid", "what was fetched cannot be decompressed", { cause: error });
  }
}

interface TarFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const block = 512;

/** Regular files, in order; an archive that is cut off ends early. */
function* tarFiles(archive: Uint8Array): Generator<TarFile, undefined> {
  const text = (at: number, length: number): string =>
    Buffer.from(archive.subarray(at, at + length))
      .toString("latin1")
      .replace(/\0.*$/s, "");
  for (let at = 0; at + block <= archive.length; ) {
    const name = text(at, 100);
    if (name === "") return undefined;
    const size = Number.parseInt(text(at + 124, 12).trim() || "0", 8);
    const start = at + block;
    if (!Number.isSafeInteger(size) || size < 0 || start + size > archive.length) return undefined;
    const kind = text(at + 156, 1);
    const folder = text(at + 345, 155);
    if (kind === "0" || kind === "")
      yield { name: folder === "" ? name : `${folder}/${name}`, bytes: archive.subarray(start, start + size) };
    at = start + Math.ceil(size / block) * block;
  }
  return undefined;
}
