/**
 * The bytes of a node in; the fields of it that are read here out. An Envoy lists hundreds of extensions and each proxy has
 * its own metadata: as messages, which the decoder makes of them, they take most of the time of a first request.
 */
import { isAscii } from "node:buffer";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Node } from "../../gen/envoy/config/core/v3/base_pb.js";
import { mayBeNoText, readLength } from "../read-bytes.ts";

export interface NodeFields extends Pick<Node, "id" | "cluster" | "metadata" | "userAgentName"> {
  readonly locality?: Pick<NonNullable<Node["locality"]>, "region" | "zone" | "subZone"> | undefined;
  readonly extensions: readonly Pick<Node["extensions"][number], "name" | "disabled">[];
  readonly userAgentVersionType: AgentVersion;
}

type AgentVersion =
  | { readonly case: undefined; readonly value?: undefined }
  | { readonly case: "userAgentVersion"; readonly value: string }
  | { readonly case: "userAgentBuildVersion"; readonly value: { readonly version?: SemanticVersion | undefined } };

type SemanticVersion = Readonly<Record<"majorNumber" | "minorNumber" | "patch", number>>;

/** Tags: the number of a field and its wire type, which is bytes for all but numbers, booleans and null. */
const nodeTag = {
  ...{ id: 0x0a, cluster: 0x12, metadata: 0x1a, locality: 0x22, agent: 0x32, agentVersion: 0x3a },
  ...{ agentBuild: 0x42, extension: 0x4a, feature: 0x52 },
} as const;
const valueTag = { null: 0x08, number: 0x11, text: 0x1a, bool: 0x20, struct: 0x2a, list: 0x32 } as const;
const extensionTag = { name: 0x0a, category: 0x12, disabled: 0x28, typeUrl: 0x32 } as const;
/** Of the first three fields of any message, where they are written as bytes. */
const [first, second, third] = [0x0a, 0x12, 0x1a];

/** What is deeper, or more, is refused by who checks the metadata; the decoder reads it for that. */
const maxDepth = 16;
const maxValues = 8192;

/** Thrown, as it is met anywhere: the decoder is to read it, or to tell what is wrong with it. */
const notPlain = new Error("the node is not written as encoders do");

/** Undefined for what has fields that are not known here, or is not written as encoders do. */
export function readNode(bytes: Buffer, start: number, end: number): NodeFields | undefined {
  try {
    return new NodeReader(bytes).node(start, end);
  } catch (error) {
    if (error === notPlain) return undefined;
    throw error;
  }
}

class NodeReader {
  readonly #bytes: Buffer;
  /** Where the field that was met last has its content. */
  #start = 0;
  #end = 0;
  #values = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  node(start: number, end: number): NodeFields {
    let [id, cluster, agent] = ["", "", ""];
    let metadata: JsonObject | undefined;
    let locality: NodeFields["locality"];
    let version: AgentVersion = { case: undefined };
    const extensions: { name: string; disabled: boolean }[] = [];
    let seen = 0;
    for (let at = start; at < end; ) {
      const tag = this.#field(at, end);
      at = this.#end;
      if (tag !== nodeTag.extension && tag !== nodeTag.feature) seen = once(seen, tag);
      if (tag === nodeTag.extension) extensions.push(this.#extension(this.#start, at));
      else if (tag === nodeTag.metadata) metadata = this.#struct(this.#start, at, 0);
      else if (tag === nodeTag.id) id = this.#text();
      else if (tag === nodeTag.cluster) cluster = this.#text();
      else if (tag === nodeTag.agent) agent = this.#text();
      else if (tag === nodeTag.feature) this.#text();
      else if (tag === nodeTag.locality) locality = this.#locality(this.#start, at);
      else if (tag === nodeTag.agentVersion || tag === nodeTag.agentBuild) {
        // They stand for each other: of two the last counts.
        if (version.case) throw notPlain;
        version =
          tag === nodeTag.agentVersion
            ? { case: "userAgentVersion", value: this.#text() }
            : { case: "userAgentBuildVersion", value: this.#build(this.#start, at) };
      } else throw notPlain;
    }
    return {
      ...{ id, cluster, locality, extensions, userAgentName: agent, userAgentVersionType: version },
      ...(metadata ? { metadata } : {}),
    };
  }

  /** The tag of a field that is written as bytes, which are where `#start` and `#end` say then. */
  #field(at: number, end: number): number {
    const { length, start } = readLength(this.#bytes, at + 1);
    if (start + length > end) throw notPlain;
    this.#start = start;
    this.#end = start + length;
    return this.#bytes[at] ?? 0;
  }

  #text(): string {
    const text = this.#bytes.toString("utf8", this.#start, this.#end);
    if (mayBeNoText(text)) throw notPlain;
    return text;
  }

  #struct(start: number, end: number, depth: number): JsonObject {
    if (depth > maxDepth) throw notPlain;
    // Without prototype: a key such as `__proto__` is data.
    const made: JsonObject = Object.create(null) as JsonObject;
    for (let at = start; at < end; ) {
      if (this.#field(at, end) !== first) throw notPlain;
      at = this.#end;
      this.#entry(made, this.#start, at, depth);
    }
    return made;
  }

  #entry(made: JsonObject, start: number, end: number, depth: number): void {
    if (this.#field(start, end) !== first) throw notPlain;
    const key = this.#text();
    const next = this.#end;
    if (next >= end || this.#field(next, end) !== second || this.#end !== end) throw notPlain;
    made[key] = this.#value(this.#start, end, depth);
  }

  #value(start: number, end: number, depth: number): JsonValue {
    if (++this.#values > maxValues) throw notPlain;
    const tag = this.#bytes[start];
    if (tag === valueTag.null || tag === valueTag.bool) return this.#single(tag, start, end);
    if (tag === valueTag.number) {
      if (end !== start + 9) throw notPlain;
      const read = this.#bytes.readDoubleLE(start + 1);
      if (!Number.isFinite(read)) throw notPlain;
      return read;
    }
    if (start >= end) throw notPlain;
    this.#field(start, end);
    if (this.#end !== end) throw notPlain;
    if (tag === valueTag.text) return this.#text();
    if (tag === valueTag.struct) return this.#struct(this.#start, end, depth + 1);
    if (tag === valueTag.list) return this.#list(this.#start, end, depth + 1);
    throw notPlain;
  }

  /** A value of one byte. */
  #single(tag: number, start: number, end: number): JsonValue {
    const read = this.#bytes[start + 1] ?? 2;
    if (end !== start + 2 || read > (tag === valueTag.bool ? 1 : 0)) throw notPlain;
    return tag === valueTag.bool ? read === 1 : null;
  }

  #list(start: number, end: number, depth: number): JsonValue[] {
    if (depth > maxDepth) throw notPlain;
    const made: JsonValue[] = [];
    for (let at = start; at < end; ) {
      if (this.#field(at, end) !== first) throw notPlain;
      at = this.#end;
      made.push(this.#value(this.#start, at, depth));
    }
    return made;
  }

  #locality(start: number, end: number): NodeFields["locality"] {
    let [region, zone, subZone, seen] = ["", "", "", 0];
    for (let at = start; at < end; ) {
      const tag = this.#field(at, end);
      at = this.#end;
      seen = once(seen, tag);
      if (tag === first) region = this.#text();
      else if (tag === second) zone = this.#text();
      else if (tag === third) subZone = this.#text();
      else throw notPlain;
    }
    return { region, zone, subZone };
  }

  #extension(start: number, end: number): { name: string; disabled: boolean } {
    let [name, disabled, seen] = ["", false, 0];
    // Then all that is passed over is text too, and no length takes two bytes.
    if (!isAscii(this.#bytes.subarray(start, end))) throw notPlain;
    for (let at = start; at < end; ) {
      const tag = this.#bytes[at] ?? 0;
      if (tag !== extensionTag.typeUrl) seen = once(seen, tag);
      if (tag === extensionTag.disabled) {
        disabled = this.#single(valueTag.bool, at, Math.min(at + 2, end)) === true;
        at += 2;
        continue;
      }
      this.#field(at, end);
      at = this.#end;
      if (tag === extensionTag.name) name = this.#text();
      else if (tag !== extensionTag.category && tag !== extensionTag.typeUrl) throw notPlain;
    }
    return { name, disabled };
  }

  /** A version, and then perhaps what else is to be said of the build, which nobody reads here. */
  #build(start: number, end: number): { readonly version?: SemanticVersion } {
    if (start === end) return {};
    if (this.#field(start, end) !== first) throw notPlain;
    const [from, to] = [this.#start, this.#end];
    if (to !== end) {
      if (this.#field(to, end) !== second || this.#end !== end) throw notPlain;
      this.#struct(this.#start, end, 0);
    }
    const numbers = [0, 0, 0];
    let seen = 0;
    for (let at = from; at < to; ) {
      const tag = this.#bytes[at] ?? 0;
      const { length: number, start: next } = readLength(this.#bytes, at + 1);
      if (next > to || !Number.isFinite(number) || tag % 8 !== 0 || tag < 0x08 || tag > 0x18) throw notPlain;
      seen = once(seen, tag);
      numbers[tag / 8 - 1] = number;
      at = next;
    }
    const [majorNumber = 0, minorNumber = 0, patch = 0] = numbers;
    return { version: { majorNumber, minorNumber, patch } };
  }
}

/** Of a field that comes twice the decoder merges the two. */
function once(seen: number, tag: number): number {
  const bit = 1 << (tag >> 3);
  if ((seen & bit) !== 0) throw notPlain;
  return seen | bit;
}
