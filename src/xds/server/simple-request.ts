/**
 * The bytes of an incremental request in; what it says out, where that is who asks, names of resources, which are there, or
 * that a response was taken. A fleet sends one for each response, and a thousand names when it starts, so they are read
 * without a decoder.
 */
import { isAscii } from "node:buffer";
import { DeltaDiscoveryRequestSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { checkParts } from "../../rpc/index.ts";
import { readNode } from "../node/read-node.ts";
import { asBuffer, mayBeNoText, readLength } from "../read-bytes.ts";
import type { DeltaRequest } from "../stream/request.ts";
import { type WireType, wireType } from "../type-info.ts";
import type { Incoming } from "./incoming.ts";
import { addVersion, initialTag, type Versions } from "./initial-versions.ts";
import { createReadNames, type ReadNames } from "./name-blocks.ts";
import { checkLongNames, lengthsOf, measureNames } from "./name-lengths.ts";
import { maxNodeBytes } from "./node-size.ts";

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
  if (message.length > surelyFewBytes && hasTooManyParts(message)) return undefined;
  const bytes = asBuffer(message);
  let type: WireType | undefined;
  let nonce = "";
  let nodeAt: { readonly start: number; readonly end: number } | undefined;
  let subscribe: readonly string[] = none;
  const unsubscribe: string[] = [];
  let initial: Versions | undefined;
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
    // One that is said twice, of which the last counts, may be no text the first time.
    if (field === tag.type && !type) {
      type = wireType(bytes.toString("utf8", start, end));
      if (!type) return undefined;
    } else if (field === tag.nonce && nonce === "") nonce = bytes.toString("utf8", start, end);
    else if (field === tag.unsubscribe) unsubscribe.push(bytes.toString("utf8", start, end));
    else if (field === tag.node) {
      // Of one that comes twice the decoder merges the two; of one that is too large its size is told.
      if (nodeAt || length > maxNodeBytes) return undefined;
      nodeAt = { start, end };
    } else if (field === initialTag) {
      initial ??= new Map();
      if (!addVersion(initial, bytes, start, end)) return undefined;
    } else return undefined;
    at = end;
  }
  const longInitial = initial ? measureNames(initial.keys()).long : 0;
  checkLongNames(lengthsOf(subscribe).long + lengthsOf(unsubscribe).long + longInitial);
  if (!type) return undefined;
  // Who asks counts in the first request, which has no nonce.
  const asks = nonce === "" ? nodeAt : undefined;
  const node = asks && readNode(bytes, asks.start, asks.end);
  if (asks && !node) return undefined;
  // Of one that is no text the decoder is to tell.
  if (!isAscii(bytes) && [nonce, ...subscribe, ...unsubscribe].some(mayBeNoText)) return undefined;
  return {
    node,
    typeUrl: type,
    nonce,
    names: subscribe,
    error: undefined,
    errorCode: 0,
    receive: (state, of, nowMs) =>
      state.receiveDelta({ type: of, subscribe, unsubscribe, initial: initial ?? noVersions, nonce }, nowMs),
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

const none: readonly string[] = [];
const noVersions: DeltaRequest["initial"] = new Map();
