/**
 * The bytes of an incremental request in; what its client says to hold, and the request without it, out. A client may hold
 * tens of thousands of resources: as properties of an object, which the decoder makes of them, they take four times as long.
 */
import { DeltaDiscoveryRequestSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { checkParts } from "../../rpc/index.ts";
import { asBuffer, mayBeNoText, readLength } from "../read-bytes.ts";

/** Of `initial_resource_versions`, a number and the wire type of bytes; and of the two fields of an entry. */
export const initialTag = 0x2a;
const [keyTag, valueTag] = [0x0a, 0x12];
/** What stays of a tag of one byte where its field is written as bytes. */
const [wireTypeBits, delimited] = [0x87, 2];

export type Versions = Map<string, string>;

/** Adds an entry that is in these bytes; false where it is not written as encoders do, or may be no text. */
export function addVersion(versions: Versions, bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start] !== keyTag) return false;
  const key = readLength(bytes, start + 1);
  const keyEnd = key.start + key.length;
  if (keyEnd >= end || bytes[keyEnd] !== valueTag) return false;
  const value = readLength(bytes, keyEnd + 1);
  if (value.start + value.length !== end) return false;
  const [name, version] = [bytes.toString("utf8", key.start, keyEnd), bytes.toString("utf8", value.start, end)];
  if (mayBeNoText(name) || mayBeNoText(version)) return false;
  versions.set(name, version);
  return true;
}

export interface Apart {
  readonly versions: Versions;
  /** With all versions from the first on that is not written as encoders do, or may be no text. */
  readonly rest: Uint8Array;
}

/** Undefined where there is nothing of the kind, or the decoder is to tell what is wrong with it. */
export function takeVersions(message: Uint8Array): Apart | undefined {
  const bytes = asBuffer(message);
  const versions: Versions = new Map();
  const rest: Uint8Array[] = [];
  let restFrom = 0;
  let isChecked = false;
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at] ?? 0;
    if ((tag & wireTypeBits) !== delimited) return undefined;
    const { length, start } = readLength(bytes, at + 1);
    const end = start + length;
    if (end > bytes.length) return undefined;
    if (tag === initialTag) {
      if (!isChecked) checkParts(DeltaDiscoveryRequestSchema, bytes);
      isChecked = true;
      // What follows it may say another version of the same name.
      if (!addVersion(versions, bytes, start, end)) break;
      if (restFrom < at) rest.push(bytes.subarray(restFrom, at));
      restFrom = end;
    }
    at = end;
  }
  if (versions.size === 0) return undefined;
  rest.push(bytes.subarray(restFrom));
  return { versions, rest: Buffer.concat(rest) };
}
