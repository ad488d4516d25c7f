/**
 * The protobuf form of Kubernetes' own kinds in, plain data out. kubectl's typed commands (`create serviceaccount`,
 * `create token`, `auth can-i`, …) send nothing else; answers are JSON, which they accept.
 */
import { isRecord } from "../lib/index.ts";
import { setField, textAt } from "./access.ts";
import type { Definitions } from "./definitions.ts";
import { failure } from "./failure.ts";
import type { ApiKind, JsonSchema } from "./kind.ts";
import { objectLimits } from "./limits.ts";

const magic = Buffer.from("k8s\0");

/** Scalars that Go has as pointers: for these zero is a value, for all others it means "not set". */
const zeroCounts: ReadonlySet<string> = new Set(
  "replicas minReplicas automountServiceAccountToken backoffLimit completions parallelism suspend gracePeriodSeconds terminationGracePeriodSeconds enableServiceLinks allowPrivilegeEscalation privileged runAsNonRoot readOnlyRootFilesystem runAsUser runAsGroup fsGroup revisionHistoryLimit expirationSeconds immutable controller blockOwnerDeletion optional shareProcessNamespace leaseTransitions ready serving terminating".split(
    " ",
  ),
);

export function isProtobuf(contentType: string): boolean {
  return contentType.startsWith("application/vnd.kubernetes.protobuf");
}

/** The schema of a body is that of the URL's kind, or of what the body itself says it is where a subresource has its own. */
export function parseProtobuf(definitions: Definitions, kind: ApiKind, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (!bytes.subarray(0, 4).equals(magic)) throw failure("BadRequest", "the body is not in Kubernetes' protobuf form");
  try {
    const body = { definitions, left: objectLimits.maxValues };
    const envelope = readFields(body, bytes.subarray(4));
    const type = readFields(body, bytesOf(envelope, 1));
    const [apiVersion, kindName] = [bytesOf(type, 1).toString(), bytesOf(type, 2).toString()];
    const schema = schemaFor(definitions, kind, apiVersion, kindName);
    if (schema === undefined)
      throw failure("UnsupportedMediaType", `${kindName} is not read in its protobuf form: send JSON`);
    return { apiVersion, kind: kindName, ...message(body, schema, bytesOf(envelope, 2), 0) };
  } catch (error) {
    if (error instanceof RangeError) throw failure("BadRequest", "the body is not in Kubernetes' protobuf form");
    throw error;
  }
}

function schemaFor(definitions: Definitions, kind: ApiKind, apiVersion: string, name: string): JsonSchema | undefined {
  if (name === kind.kind) return definitions.schemaOf(kind);
  const found = [`io.k8s.api.authentication.v1.${name}`, `io.k8s.apimachinery.pkg.apis.meta.v1.${name}`].find((id) =>
    definitions.get(id),
  );
  return apiVersion === "" || found === undefined ? undefined : definitions.get(found);
}

/** What one body is read with. */
interface Body {
  readonly definitions: Definitions;
  /** Fields that it may still have: three megabytes hold more of them than can be read in a short turn. */
  left: number;
}

interface WireField {
  readonly number: number;
  readonly value: bigint | Buffer;
}

type Fields = Record<string, unknown>;

function message(body: Body, schema: JsonSchema, bytes: Buffer, depth: number): Fields {
  if (depth > objectLimits.maxDepth) throw failure("BadRequest", "the body is nested too deep");
  const out: Fields = {};
  collect(body, schema, numbersOf(textAt(schema, "x-numbers")), bytes, depth, out);
  return out;
}

function collect(body: Body, schema: JsonSchema, numbers: Numbers, bytes: Buffer, depth: number, out: Fields): void {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  for (const field of readFields(body, bytes)) {
    const name = numbers.get(field.number);
    if (name === undefined) continue;
    if (typeof name !== "string") {
      if (Buffer.isBuffer(field.value)) collect(body, schema, name, field.value, depth, out);
      continue;
    }
    put(body, properties[name], name, field, depth, out);
  }
}

/** Items of a list, and entries of a map, come one by one and are added in place. */
function put(body: Body, property: unknown, name: string, field: WireField, depth: number, out: Fields): void {
  const schema = isRecord(property) ? property : {};
  if (schema.type === "array") {
    const list = (out[name] ?? []) as unknown[];
    list.push(value(body, schema.items, field, depth));
    out[name] = list;
  } else if (isRecord(schema.additionalProperties)) {
    const map = (out[name] ?? {}) as Fields;
    setField(map, ...entry(body, schema.additionalProperties, field, depth));
    out[name] = map;
  } else {
    const decoded = value(body, schema, field, depth);
    if (decoded !== undefined && (zeroCounts.has(name) || !isZero(decoded))) out[name] = decoded;
  }
}

function isZero(value: unknown): boolean {
  return value === 0 || value === "" || value === false;
}

function entry(body: Body, schema: JsonSchema, field: WireField, depth: number): readonly [string, unknown] {
  const fields = readFields(body, asBytes(field));
  const inner = fields.find((f) => f.number === 2) ?? { number: 2, value: Buffer.alloc(0) };
  // The lists in maps (`extra` of a user) are wrapped in a message of their own.
  if (schema.type === "array")
    return [bytesOf(fields, 1).toString(), readFields(body, asBytes(inner)).map((f) => asBytes(f).toString())];
  return [bytesOf(fields, 1).toString(), value(body, schema, inner, depth)];
}

function value(body: Body, property: unknown, field: WireField, depth: number): unknown {
  const schema = body.definitions.resolve(property);
  if (schema["x-kubernetes-int-or-string"] === true) return intOrString(body, asBytes(field));
  if (schema["x-quantity"] === true) return bytesOf(readFields(body, asBytes(field)), 1).toString();
  switch (schema.type) {
    case "string":
      if (schema.format === "date-time") return time(body, asBytes(field));
      return asBytes(field).toString(schema.format === "byte" ? "base64" : "utf8");
    case "integer":
    case "number":
      return Number(BigInt.asIntN(64, asNumber(field)));
    case "boolean":
      return asNumber(field) !== 0n;
    case "object":
      return message(body, schema, asBytes(field), depth + 1);
    default:
      return undefined;
  }
}

function intOrString(body: Body, bytes: Buffer): unknown {
  const fields = readFields(body, bytes);
  const isText = fields.some((f) => f.number === 1 && f.value === 1n);
  if (isText) return bytesOf(fields, 3).toString();
  return Number(BigInt.asIntN(32, asNumber(fields.find((f) => f.number === 2) ?? { number: 2, value: 0n })));
}

function time(body: Body, bytes: Buffer): string | undefined {
  const fields = readFields(body, bytes);
  if (fields.length === 0) return undefined;
  const seconds = BigInt.asIntN(64, asNumber(fields.find((f) => f.number === 1) ?? { number: 1, value: 0n }));
  // Go's zero time stands for "not set".
  return seconds < -60_000_000_000n ? undefined : new Date(Number(seconds) * 1000).toISOString().replace(".000Z", "Z");
}

type Numbers = Map<number, string | Numbers>;

/** By their text, of which there is one for each type. */
const knownNumbers = new Map<string, Numbers>();

function numbersOf(text: string): Numbers {
  const known = knownNumbers.get(text) ?? parseNumbers(text);
  knownNumbers.set(text, known);
  return known;
}

/** `name:1 +2(hostPath:1 emptyDir:2)`. */
function parseNumbers(text: string): Numbers {
  const root: Numbers = new Map();
  const stack = [root];
  for (const [, inline, open, name, number, close] of text.matchAll(/\+(\d+)(\()|([\w$-]+):(\d+)|(\))/g)) {
    const top = stack.at(-1) ?? root;
    if (open !== undefined) {
      const inner: Numbers = new Map();
      top.set(Number(inline), inner);
      stack.push(inner);
    } else if (close !== undefined) stack.pop();
    else if (name !== undefined) top.set(Number(number), name);
  }
  return root;
}

function readFields(body: Body, bytes: Buffer): readonly WireField[] {
  const out: WireField[] = [];
  let at = 0;
  const varint = (): bigint => {
    let result = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return result;
    }
    throw new RangeError("varint");
  };
  const take = (length: number): Buffer => {
    if (length < 0 || at + length > bytes.length) throw new RangeError("length");
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    if (--body.left < 0)
      throw failure(
        "RequestEntityTooLarge",
        `Request entity too large: it has more than ${objectLimits.maxValues} fields`,
      );
    const key = Number(varint());
    const [number, type] = [key >>> 3, key & 7];
    if (type === 0) out.push({ number, value: varint() });
    else if (type === 1) out.push({ number, value: take(8).readBigUInt64LE() });
    else if (type === 2) out.push({ number, value: take(Number(varint())) });
    else if (type === 5) out.push({ number, value: BigInt(take(4).readUInt32LE()) });
    else throw new RangeError("wire type");
  }
  return out;
}

function bytesOf(fields: readonly WireField[], number: number): Buffer {
  const found = fields.findLast((field) => field.number === number);
  return found ? asBytes(found) : Buffer.alloc(0);
}

function asBytes(field: WireField): Buffer {
  if (!Buffer.isBuffer(field.value)) throw new RangeError("bytes expected");
  return field.value;
}

function asNumber(field: WireField): bigint {
  if (Buffer.isBuffer(field.value)) throw new RangeError("number expected");
  return field.value;
}
