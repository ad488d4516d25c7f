/**
 * An object in; the same with a few further fields of its schema set out, wherever they are: so that every field that a
 * kind has is met some day, also those that the writers of objects do not think of.
 */
import { decodeMeshConfig } from "../../src/config/index.ts";
import { isRecord } from "../../src/lib/index.ts";
import { type KubeObject, kindOf, meshConfigSpec, type ObjectNode, type Schema } from "../../src/model/index.ts";
import type { Random } from "../random.ts";
import { address, apps, host, ports, type Spec, seconds, some, times, versions, yes } from "./words.ts";

/** What fields of these names mean, wherever they stand; others get any value of their type. */
const words: Readonly<Record<string, (random: Random) => unknown>> = {
  host,
  hosts: (random) => times(random, 1, 2, () => host(random)),
  address,
  subset: (random) => random.pick(versions),
  number: (random) => random.pick(ports).port,
  port: (random) => random.pick(ports).port,
  portNumber: (random) => random.pick(ports).port,
  namespace: (random) => random.pick(["red", "green", "blue"]),
  exportTo: (random) => random.pick([["."], ["*"], ["red"]]),
  credentialName: (random) => random.pick(["cert1", "cert2"]),
  version: (random) => random.pick(versions),
  app: (random) => random.pick(apps),
  weight: (random) => 1 + random.whole(100),
  regex: (random) => random.pick(["a.*", "[0-9]+", "x|y"]),
  service: host,
  jwksUri: () => "https://keys.example.com/0",
};

/** MeshConfig likewise; one that cannot be read would leave the last one in force, which a fresh start does not know. */
export function spicedSettings(random: Random, mesh: Spec): Spec {
  const more = withField(random, meshConfigSpec, mesh);
  return decodeMeshConfig(JSON.stringify(more)).ok ? more : mesh;
}

export function spiced(random: Random, object: KubeObject): KubeObject {
  const kind = kindOf(object.apiVersion, object.kind);
  if (!kind || !isRecord(object.spec)) return object;
  let spec: Spec = object.spec;
  for (let count = 1 + random.whole(3); count > 0; count--) spec = withField(random, kind.spec, spec);
  return { ...object, spec };
}

/** Goes down to a random place that is there already, and sets a field that is not. */
function withField(random: Random, schema: ObjectNode, value: Spec): Spec {
  const within = Object.entries(value).filter(([name]) => objectsIn(schema.fields[name]));
  if (within.length > 0 && random.chance(0.7)) {
    const [name, inner] = random.pick(within);
    const node = objectsIn(schema.fields[name]);
    if (node && isRecord(inner)) return { ...value, [name]: withField(random, node, inner) };
    if (node && Array.isArray(inner) && inner.length > 0) {
      const at = random.whole(inner.length);
      const item: unknown = inner[at];
      return isRecord(item) ? { ...value, [name]: inner.with(at, withField(random, node, item)) } : value;
    }
  }
  const free = Object.keys(schema.fields).filter((name) => !(name in value) && !isExcluded(schema, value, name));
  if (free.length === 0) return value;
  const name = random.pick(free);
  return { ...value, [name]: made(random, name, schema.fields[name], 0) };
}

/** Of a oneof at most one field is set, or the object cannot be read. */
function isExcluded(schema: ObjectNode, value: Spec, name: string): boolean {
  return (schema.oneOf ?? []).some((group) => group.includes(name) && group.some((other) => other in value));
}

function objectsIn(schema: Schema | undefined): ObjectNode | undefined {
  if (schema?.type === "object") return schema;
  return schema?.type === "array" && schema.items.type === "object" ? schema.items : undefined;
}

function made(random: Random, name: string, schema: Schema | undefined, depth: number): unknown {
  const word = words[name];
  if (word && schema?.type !== "object" && (schema?.type === "array") === Array.isArray(word(random)))
    return word(random);
  switch (schema?.type) {
    case "string":
      if (schema.enum) return random.pick(schema.enum);
      return schema.meaning === "duration"
        ? seconds(random)
        : schema.meaning === "bytes"
          ? "eA=="
          : random.pick(["x", "y", "/z"]);
    case "integer":
      return schema.allowed ? random.pick(schema.allowed) : Math.max(schema.minimum ?? 0, 1 + random.whole(100));
    case "number":
      return 1 + random.whole(99);
    case "boolean":
      return random.chance(0.7);
    case "int-or-string":
      return random.whole(100);
    case "any":
      return { x: random.whole(3), ...yes(random, 0.5, () => ({ w: { b: 1, a: 2 } })) };
    case "array":
      return times(random, 1, 2, () => made(random, name, schema.items, depth + 1));
    case "map":
      return Object.fromEntries(
        some(random, ["app", "version", "x-a"], 1, 3).map((key) => [key, made(random, "", schema.values, depth + 1)]),
      );
    case "object":
      return madeObject(random, schema, depth);
    default:
      return undefined;
  }
}

function madeObject(random: Random, schema: ObjectNode, depth: number): Spec {
  let value: Spec = {};
  const names = Object.keys(schema.fields);
  const more = names.length === 0 ? [] : times(random, 1, 2, () => random.pick(names));
  const wanted = new Set([...(schema.required ?? []), ...more]);
  for (const name of depth > 3 ? [] : wanted)
    if (!isExcluded(schema, value, name))
      value = { ...value, [name]: made(random, name, schema.fields[name], depth + 1) };
  return value;
}
