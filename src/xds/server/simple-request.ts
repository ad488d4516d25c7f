/**
 * The bytes of an incremental request in; where it acknowledges or names resources and says nothing else, what it says
 * out. A fleet sends one for each response, and a thousand names when it starts, so they are read without a decoder.
 */
import { isAscii } from "node:buffer";
import { DeltaDiscoveryRequestSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { checkParts } from "../../rpc/index.ts";
import type { DeltaRequest } from "../stream/request.ts";
import { type WireType, wireType } from "../type-info.ts";
import type { Incoming } from "./incoming.ts";
import { createReadNames, type ReadNames } from "./name-blocks.ts";
import { checkLongNames, lengthsOf } from "./name-lengths.ts";
import { readLength } from "./read-length.ts";

/** Fields of DeltaDiscoveryRequest, each a number and the wire type of bytes. */
const tag = { node: 0x0a, type: 0x12, subscribe: 0x1a, unsubscribe: 0x22, nonce: 0x32 } as const;

/** Undefined for anything else, be it malformed: then the whole message is decoded. */
export type ReadSimple = (message: Uint8Array) => Incoming | undefined;

export function createReadSimple(): ReadSimple {
  const readNames = createReadNames(tag.subscribe);
  return (message) => readSimple(message, readNames);
}

/** In as much there is no room for more names than may be. */
const surelyFewBytes = 256 * 1024;

function readSimple(message: Uint8Array, readNames: ReadNames): Incoming | undefined {
  // A long one that says who asks is a first one in all likelihood, and would be read twice.
  if (message.length > surelyFewBytes && (message[0] === tag.node || hasTooManyParts(message))) return undefined;
  // As it comes from a socket it is one.
  const bytes = Buffer.isBuffer(message) ? message : Buffer.from(message.buffer, message.byteOffset, message.length);
  let type: WireType | undefined;
  let nonce = "";
  let hasNode = false;
  let subscribe: readonly string[] = none;
  const unsubscribe: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const field = bytes[at];
    if (field === tag.subscribe) {
      const block = readNames(bytes, at);
      // Names in several places are as rare as names without an end.
      if (!block || subscribe !== none) return undefined;
      subscribe = block.names;
      at += block.bytes.length;
      continue;
    }
    const { length, start } = readLength(bytes, at + 1);
    const end = start + length;
    if (end > bytes.length) return undefined;
    if (field === tag.type) type = wireType(bytes.toString("utf8", start, end));
    else if (field === tag.nonce) nonce = bytes.toString("utf8", start, end);
    else if (field === tag.unsubscribe) unsubscribe.push(bytes.toString("utf8", start, end));
    else if (field === tag.node) hasNode = true;
    else return undefined;
    at = end;
  }
  checkLongNames(lengthsOf(subscribe).long + lengthsOf(unsubscribe).long);
  // Who asks is said in the first request, which has no nonce.
  if (!type || (hasNode && nonce === "")) return undefined;
  // Of one that is no text the decoder is to tell.
  if (!isAscii(bytes) && [nonce, ...subscribe, ...unsubscribe].some(mayBeNoText)) return undefined;
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

/** Or is malformed: who decodes it says what is wrong with it first. */
function hasTooManyParts(message: Uint8Array): boolean {
  try {
    checkParts(DeltaDiscoveryRequestSchema, message);
    return false;
  } catch {
    return true;
  }
}

/** What stands for bytes that are no UTF-8; few texts have it as their own. */
const mayBeNoText = (text: string): boolean => text.includes("\ufffd");

const none: readonly string[] = [];
const noVersions: DeltaRequest["initial"] = new Map();
