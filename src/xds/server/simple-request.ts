/**
 * The bytes of an incremental request in; where it acknowledges or names resources and says nothing else, what it says
 * out. A fleet sends one for each response, and a thousand names when it starts, so they are read without a decoder.
 */
import type { DeltaRequest } from "../stream/request.ts";
import { type WireType, wireType } from "../type-info.ts";
import type { Incoming } from "./incoming.ts";

/** Fields of DeltaDiscoveryRequest, each a number and the wire type of bytes. */
const tag = { node: 0x0a, type: 0x12, subscribe: 0x1a, unsubscribe: 0x22, nonce: 0x32 } as const;

/** Undefined for anything else, be it malformed: then the whole message is decoded. */
export function readSimple(message: Uint8Array): Incoming | undefined {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.length);
  let type: WireType | undefined;
  let nonce = "";
  let hasNode = false;
  const subscribe: string[] = [];
  const unsubscribe: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const field = bytes[at];
    let length = bytes[at + 1] ?? 0x80;
    let start = at + 2;
    // Most names have their length in one byte, and there are hundreds of them.
    if (length >= 0x80) [length, start] = readLength(bytes, at + 1);
    const end = start + length;
    if (end > bytes.length) return undefined;
    if (field === tag.type) type = wireType(bytes.toString("utf8", start, end));
    else if (field === tag.nonce) nonce = bytes.toString("utf8", start, end);
    else if (field === tag.subscribe) subscribe.push(bytes.toString("utf8", start, end));
    else if (field === tag.unsubscribe) unsubscribe.push(bytes.toString("utf8", start, end));
    else if (field === tag.node) hasNode = true;
    else return undefined;
    at = end;
  }
  // Who asks is said in the first request, which has no nonce.
  if (!type || (hasNode && nonce === "")) return undefined;
  return {
    node: undefined,
    typeUrl: type,
    nonce,
    names: subscribe,
    error: undefined,
    receive: (state, of, nowMs) =>
      state.receiveDelta({ type: of, subscribe, unsubscribe, initial: noVersions, nonce }, nowMs),
  };
}

const noVersions: DeltaRequest["initial"] = new Map();

/** A length, and where it ends; past the end of the message where there is none. */
function readLength(bytes: Uint8Array, from: number): readonly [length: number, start: number] {
  let length = 0;
  for (let at = from, shift = 0; shift < 28; at++, shift += 7) {
    const byte = bytes[at];
    if (byte === undefined) break;
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) return [length, at + 1];
  }
  return [Number.POSITIVE_INFINITY, from];
}
