/**
 * The bytes of an incremental request in; where it acknowledges a response and says nothing else, what it says out. Each
 * push to a fleet is answered by as many of these, so they are read without decoding the message.
 */
import type { DeltaRequest } from "../stream/request.ts";
import { type WireType, wireType } from "../type-info.ts";
import type { Incoming } from "./incoming.ts";

/** Fields of DeltaDiscoveryRequest, each a number and the wire type of bytes. */
const tag = { node: 0x0a, type: 0x12, nonce: 0x32 } as const;

/** Undefined for anything else, be it malformed: then the whole message is decoded. */
export function readAck(bytes: Uint8Array): Incoming | undefined {
  let type: WireType | undefined;
  let nonce = "";
  for (let at = 0; at < bytes.length; ) {
    const field = bytes[at];
    const [length, start] = readLength(bytes, at + 1);
    const end = start + length;
    if (end > bytes.length) return undefined;
    if (field === tag.type) type = wireType(textOf(bytes, start, end));
    else if (field === tag.nonce) nonce = textOf(bytes, start, end);
    // Who asks was said in the first request, which has no nonce.
    else if (field !== tag.node) return undefined;
    at = end;
  }
  return type && nonce !== "" ? ackOf(type, nonce) : undefined;
}

function ackOf(typeUrl: WireType, nonce: string): Incoming {
  return {
    node: undefined,
    typeUrl,
    nonce,
    names: none,
    error: undefined,
    receive: (state, type, nowMs) => state.receiveDelta({ ...nothing, type, nonce }, nowMs),
  };
}

const none: readonly string[] = [];
const nothing: Pick<DeltaRequest, "subscribe" | "unsubscribe" | "initial"> = {
  subscribe: none,
  unsubscribe: none,
  initial: new Map(),
};

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

/** Types and nonces that are ours have ASCII characters only. */
function textOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("latin1");
}
