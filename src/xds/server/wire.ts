/** A response in, the pieces of its protobuf message out: what is the stream's own is small, the rest is shared bytes. */
import { dropOldest, joinKept, keptBytes } from "../../lib/index.ts";
import type { Resource } from "../../model/index.ts";
import type { Payload } from "../../rpc/index.ts";
import type { Mark } from "../stream/response.ts";
import { type AddPieces, addAll, createBodies } from "./bodies.ts";

export interface WireResource extends Pick<Resource, "name" | "hash" | "pieces" | "size"> {
  /** Where the message is of another type than the response. */
  readonly typeUrl?: string;
}

/** As in a response, but of any type: debug answers are not resources of a proxy. */
export interface WireResponse {
  readonly type: string;
  readonly version: string;
  readonly nonce: string;
  readonly resources: readonly WireResource[];
  readonly mark?: Mark;
  readonly removed: readonly string[];
}

export type Variant = "sotw" | "delta";

/** `type` is said on the wire; the response's own where left out. */
export type Encode = (variant: Variant, response: WireResponse, type?: string) => Payload;

/** Fields of DiscoveryResponse and DeltaDiscoveryResponse: version, type, nonce and resources have the same numbers. */
const field = { version: 1, resources: 2, type: 4, nonce: 5, removed: 6 } as const;
const controlPlaneField = { sotw: 6, delta: 7 } as const;

/** All but version and nonce. */
interface Rest {
  readonly type: string;
  readonly removed: readonly string[];
  readonly bytes: Uint8Array;
  /** The whole of it as it was sent last: other streams may be sent it under the same nonce. */
  last: { readonly nonce: string; readonly payload: Payload } | undefined;
}

/** Of answers to questions there are some more than those of resources. */
const maxTypes = 64;

/** What is smaller is put together once for all streams that are handed the same lists. */
const smallBytes = 16 * 1024;

/** What frames a resource is made once for all responses that carry it. */
export function createEncode(identifier: string): Encode {
  const frames = {
    sotw: new WeakMap<WireResource, Uint8Array>(),
    delta: new WeakMap<WireResource, Uint8Array>(),
  };
  const bodies = { sotw: createBodies<WireResource>(), delta: createBodies<WireResource>() };
  const small = {
    sotw: new WeakMap<readonly WireResource[], Rest>(),
    delta: new WeakMap<readonly WireResource[], Rest>(),
  };
  const controlPlane = {
    sotw: message(controlPlaneField.sotw, text(1, identifier)),
    delta: message(controlPlaneField.delta, text(1, identifier)),
  };

  /** Of the few types that there are. */
  const typeFields = new Map<string, Uint8Array>();

  function typeField(type: string): Uint8Array {
    const known = typeFields.get(type) ?? text(field.type, type);
    typeFields.set(type, known);
    dropOldest(typeFields, maxTypes);
    return known;
  }

  function addHead(pieces: Uint8Array[], variant: Variant, type: string, removed: readonly string[]): void {
    pieces.push(typeField(type), controlPlane[variant]);
    if (variant === "delta" && removed.length > 0) pieces.push(texts(field.removed, removed));
  }

  return (variant, response, type = response.type) => {
    const { resources, removed, nonce, mark } = response;
    const known = small[variant].get(resources);
    const isKnown = known !== undefined && known.type === type && known.removed === removed;
    if (isKnown && !mark && known.last?.nonce === nonce) return known.last.payload;
    const payload = [ownFields(response)];
    if (isKnown) payload.push(known.bytes);
    else addSharedFields(payload, variant, response, type);
    if (mark) payload.push(markOf(mark));
    if (isKnown && !mark) known.last = { nonce, payload };
    return payload;
  };

  /** What all streams have that are sent the same lists. */
  function addSharedFields(
    payload: Uint8Array[],
    variant: Variant,
    { resources, removed }: WireResponse,
    type: string,
  ): void {
    const whole = bodies[variant].known(resources);
    const add: AddPieces<WireResource> = (pieces, resource) => addFramed(pieces, variant, resource, type);
    if (whole || !isSmall(resources)) {
      addHead(payload, variant, type, removed);
      addAll(payload, whole ?? bodies[variant].of(resources, add));
      return;
    }
    const pieces: Uint8Array[] = [];
    addHead(pieces, variant, type, removed);
    for (const resource of resources) add(pieces, resource);
    const rest = { type, removed, bytes: joinKept(pieces), last: undefined };
    small[variant].set(resources, rest);
    payload.push(rest.bytes);
  }

  function addFramed(pieces: Uint8Array[], variant: Variant, resource: WireResource, type: string): void {
    let frame = frames[variant].get(resource);
    if (!frame) {
      frame = frameOf(variant, resource, type);
      frames[variant].set(resource, frame);
    }
    pieces.push(frame);
    addAll(pieces, resource.pieces);
  }
}

export function payloadSize(payload: Payload): number {
  let size = 0;
  for (let at = 0; at < payload.length; at++) size += payload[at]?.length ?? 0;
  return size;
}

/** Without a look at those of a long list that come after what is too much. */
function isSmall(resources: readonly WireResource[]): boolean {
  let bytes = 0;
  for (let at = 0; at < resources.length && bytes <= smallBytes; at++) bytes += resources[at]?.size ?? 0;
  return bytes <= smallBytes;
}

/**
 * All of a response's `resources` entry that comes before the resource's own bytes. Each class has some that only it has:
 * so it is written into one buffer, once its length is known.
 */
function frameOf(variant: Variant, { typeUrl, size, hash, name }: WireResource, type: string): Uint8Array {
  const url = typeUrl ?? type;
  const anyLength = textSize(url) + headSize(size) + size;
  const ownLength = textSize(hash) + textSize(name) + headSize(anyLength);
  const length = variant === "sotw" ? anyLength : ownLength + anyLength;
  const bytes = keptBytes(headSize(length) + length - size);
  let at = writeHead(bytes, 0, field.resources, length);
  if (variant === "delta") {
    at = writeText(bytes, at, 1, hash);
    at = writeText(bytes, at, 3, name);
    at = writeHead(bytes, at, 2, anyLength);
  }
  at = writeText(bytes, at, 1, url);
  writeHead(bytes, at, 2, size);
  return bytes;
}

/** proto3 leaves an empty string out. */
function textSize(value: string): number {
  const length = Buffer.byteLength(value);
  return length === 0 ? 0 : headSize(length) + length;
}

function writeText(bytes: Buffer, from: number, number: number, value: string): number {
  if (value === "") return from;
  const at = writeHead(bytes, from, number, Buffer.byteLength(value));
  return at + bytes.write(value, at);
}

/** Envoy takes a resource without a message, and keeps its version, where it has an alias: nothing was found by that name. */
function markOf({ name, version }: Mark): Uint8Array {
  return message(field.resources, concat([text(1, version), text(3, name), repeatedText(4, name)]));
}

function message(number: number, content: Uint8Array): Uint8Array {
  return content.length === 0 ? content : concat([lengthHead(number, content.length), content]);
}

/** What each stream is told for itself; both are our own, and ASCII. */
function ownFields({ version, nonce }: WireResponse): Uint8Array {
  return Buffer.from(asciiField(field.version, version) + asciiField(field.nonce, nonce), "latin1");
}

/** The field as text whose characters are its bytes: one buffer is made of several at once. */
function asciiField(number: number, value: string): string {
  if (value.length < 0x80) return String.fromCharCode((number << 3) | 2, value.length) + value;
  return String.fromCharCode(...lengthHead(number, value.length)) + value;
}

/** proto3 leaves an empty string out. */
function text(number: number, value: string): Uint8Array {
  return value === "" ? new Uint8Array(0) : repeatedText(number, value);
}

function repeatedText(number: number, value: string): Uint8Array {
  const bytes = Buffer.from(value);
  return concat([lengthHead(number, bytes.length), bytes]);
}

/** The same for many, as one piece: tens of thousands of names may be said to be missing at once. */
function texts(number: number, values: readonly string[]): Uint8Array {
  const most = values.reduce((sum, value) => sum + 3 * value.length + maxHead, 0);
  const bytes = Buffer.allocUnsafe(most);
  let at = 0;
  for (const value of values) {
    const length = Buffer.byteLength(value);
    at = writeHead(bytes, at, number, length);
    at += bytes.write(value, at, length);
  }
  return Buffer.from(bytes.subarray(0, at));
}

/** A tag of one byte, and a length of up to five. */
const maxHead = 6;

/** Tag of a length-delimited field, and the length. */
function lengthHead(number: number, length: number): Uint8Array {
  const bytes = new Uint8Array(maxHead);
  return bytes.subarray(0, writeHead(bytes, 0, number, length));
}

/** Of the tag, and of so large a length. */
function headSize(length: number): number {
  let size = 2;
  for (let rest = length; rest > 0x7f; rest = Math.floor(rest / 128)) size++;
  return size;
}

/** Where the field's content begins. */
function writeHead(bytes: Uint8Array, from: number, number: number, length: number): number {
  let at = from;
  bytes[at++] = (number << 3) | 2;
  let rest = length;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 0x80;
  bytes[at++] = rest;
  return at;
}

function concat(pieces: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(pieces);
}
