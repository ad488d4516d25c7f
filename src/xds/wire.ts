/** A response in, the pieces of its protobuf message out: small heads made here, and the resources' own shared bytes between them. */
import type { Resource } from "../model/index.ts";
import type { Payload } from "../rpc/index.ts";

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

const encoder = new TextEncoder();

/** A DiscoveryResponse. */
export function encodeSotw(response: WireResponse, identifier: string): Payload {
  const pieces: Uint8Array[] = [text(1, response.version)];
  const common = text(1, response.type);
  for (const resource of response.resources) {
    const anyHead = resource.typeUrl === undefined ? common : text(1, resource.typeUrl);
    const valueHead = lengthHead(2, resource.size);
    pieces.push(
      concat([lengthHead(2, anyHead.length + valueHead.length + resource.size), anyHead, valueHead]),
      ...resource.pieces,
    );
  }
  pieces.push(concat([text(4, response.type), text(5, response.nonce), controlPlane(6, identifier)]));
  return pieces;
}

/** A DeltaDiscoveryResponse. */
export function encodeDelta(response: WireResponse, identifier: string): Payload {
  const pieces: Uint8Array[] = [text(1, response.version)];
  const common = text(1, response.type);
  for (const resource of response.resources) {
    const anyHead = resource.typeUrl === undefined ? common : text(1, resource.typeUrl);
    const own = concat([text(1, resource.hash), text(3, resource.name)]);
    const valueHead = lengthHead(2, resource.size);
    const anyLength = anyHead.length + valueHead.length + resource.size;
    const resourceHead = lengthHead(2, anyLength);
    pieces.push(
      concat([lengthHead(2, own.length + resourceHead.length + anyLength), own, resourceHead, anyHead, valueHead]),
      ...resource.pieces,
    );
  }
  pieces.push(
    concat([
      text(4, response.type),
      text(5, response.nonce),
      ...response.removed.map((name) => repeatedText(6, name)),
      controlPlane(7, identifier),
    ]),
  );
  return pieces;
}

export function payloadSize(payload: Payload): number {
  return payload.reduce((sum, piece) => sum + piece.length, 0);
}

function controlPlane(field: number, identifier: string): Uint8Array {
  const message = text(1, identifier);
  return message.length === 0 ? message : concat([lengthHead(field, message.length), message]);
}

/** proto3 leaves an empty string out. */
function text(field: number, value: string): Uint8Array {
  return value === "" ? new Uint8Array(0) : repeatedText(field, value);
}

function repeatedText(field: number, value: string): Uint8Array {
  const bytes = encoder.encode(value);
  return concat([lengthHead(field, bytes.length), bytes]);
}

/** Tag of a length-delimited field, and the length. */
function lengthHead(field: number, length: number): Uint8Array {
  const bytes = [(field << 3) | 2];
  let rest = length;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

function concat(pieces: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(pieces);
}
