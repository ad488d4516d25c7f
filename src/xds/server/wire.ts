/** A response in, the pieces of its protobuf message out: what is the stream's own is small, the rest is shared bytes. */
import type { Resource } from "../../model/index.ts";
import type { Payload } from "../../rpc/index.ts";
import { createBodies } from "./bodies.ts";

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
  readonly removed: readonly string[];
}

export type Variant = "sotw" | "delta";

export type Encode = (variant: Variant, response: WireResponse) => Payload;

/** Fields of DiscoveryResponse and DeltaDiscoveryResponse: version, type, nonce and resources have the same numbers. */
const field = { version: 1, resources: 2, type: 4, nonce: 5, removed: 6 } as const;
const controlPlaneField = { sotw: 6, delta: 7 } as const;

/** What frames a resource is made once for all responses that carry it. */
export function createEncode(identifier: string): Encode {
  const frames = {
    sotw: new WeakMap<WireResource, Uint8Array>(),
    delta: new WeakMap<WireResource, Uint8Array>(),
  };
  const bodies = { sotw: createBodies(), delta: createBodies() };
  const controlPlane = {
    sotw: message(controlPlaneField.sotw, text(1, identifier)),
    delta: message(controlPlaneField.delta, text(1, identifier)),
  };
  return (variant, response) => {
    const own = concat([
      text(field.version, response.version),
      text(field.type, response.type),
      text(field.nonce, response.nonce),
      controlPlane[variant],
      ...(variant === "delta" ? response.removed.map((name) => repeatedText(field.removed, name)) : []),
    ]);
    const bytes = response.resources.reduce((sum, resource) => sum + resource.size, 0);
    const body = bodies[variant].get(response.resources, bytes, () => framed(variant, response));
    return [own, ...body];
  };

  function framed(variant: Variant, response: WireResponse): Uint8Array[] {
    const pieces: Uint8Array[] = [];
    for (const resource of response.resources) {
      const frame = frames[variant].get(resource) ?? frameOf(variant, resource, response.type);
      frames[variant].set(resource, frame);
      pieces.push(frame);
      for (const piece of resource.pieces) pieces.push(piece);
    }
    return pieces;
  }
}

export function payloadSize(payload: Payload): number {
  return payload.reduce((sum, piece) => sum + piece.length, 0);
}

/** All of a response's `resources` entry that comes before the resource's own bytes. */
function frameOf(variant: Variant, resource: WireResource, type: string): Uint8Array {
  const any = concat([text(1, resource.typeUrl ?? type), lengthHead(2, resource.size)]);
  const anyLength = any.length + resource.size;
  if (variant === "sotw") return concat([lengthHead(field.resources, anyLength), any]);
  const own = concat([text(1, resource.hash), text(3, resource.name), lengthHead(2, anyLength)]);
  return concat([lengthHead(field.resources, own.length + anyLength), own, any]);
}

function message(number: number, content: Uint8Array): Uint8Array {
  return content.length === 0 ? content : concat([lengthHead(number, content.length), content]);
}

/** proto3 leaves an empty string out. */
function text(number: number, value: string): Uint8Array {
  return value === "" ? new Uint8Array(0) : repeatedText(number, value);
}

function repeatedText(number: number, value: string): Uint8Array {
  const bytes = Buffer.from(value);
  return concat([lengthHead(number, bytes.length), bytes]);
}

/** Tag of a length-delimited field, and the length. */
function lengthHead(number: number, length: number): Uint8Array {
  const bytes = [(number << 3) | 2];
  let rest = length;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

function concat(pieces: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(pieces);
}
