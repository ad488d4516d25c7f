/**
 * A spec in; for every field that its schema has, the same spec with different values of that one field out. Whatever
 * else the field needs to be of use must be in the spec already.
 */
import { isRecord } from "../../src/lib/index.ts";
import type { ObjectNode, Schema } from "../../src/model/index.ts";
import { valuesOf } from "./values.ts";

export interface Variants {
  readonly path: string;
  /** How much of it the spec lacks: the field, and messages that hold it. Where all is there, what shows it likely is too. */
  readonly lacking: number;
  /** Undefined where the field, or what holds it, is left out. */
  readonly states: readonly unknown[];
}

type Spec = Readonly<Record<string, unknown>>;

/** By message and field, another field that must fit: no second value is valid beside the same value of that one. */
const partners: ReadonlyMap<string, string> = new Map([
  ["istio.type.v1beta1.PolicyTargetReference.group", "kind"],
  ["istio.telemetry.v1alpha1.MetricsOverrides.TagOverride.operation", "value"],
  ["istio.extensions.v1alpha1.EnvVar.valueFrom", "value"],
]);

/** How deep messages are made up that the spec does not have. */
const deepest = 2;
export const mostLacking = deepest + 1;

export function* variantsOf(schema: ObjectNode, spec: Spec, path = "", made = 0): Generator<Variants> {
  for (const [name, child] of Object.entries(schema.fields)) {
    const at = path === "" ? name : `${path}.${name}`;
    for (const { states, ...field } of within(child, spec[name], at, name, made))
      yield { ...field, states: states.flatMap((state) => withPartner(schema, spec, name, state)) };
  }
}

/** With any value of its partner, where it has one and is changed. */
function withPartner(schema: ObjectNode, spec: Spec, name: string, value: unknown): readonly Spec[] {
  const changed = withField(schema, spec, name, value);
  const partner = partners.get(`${schema.proto}.${name}`);
  const field = partner === undefined ? undefined : schema.fields[partner];
  if (partner === undefined || !field || value === spec[name]) return [changed];
  return [spec[partner], undefined, ...valuesOf(field, partner)].map((beside) =>
    withField(schema, changed, partner, beside),
  );
}

/** Of a oneof at most one field is set: the others give way. */
function withField(schema: ObjectNode, spec: Spec, name: string, value: unknown): Spec {
  const rivals = new Set((schema.oneOf ?? []).filter((group) => group.includes(name)).flat());
  const rest = Object.entries(spec).filter(([other]) => other !== name && !rivals.has(other));
  return { ...Object.fromEntries(rest), ...(value === undefined ? {} : { [name]: value }) };
}

function* within(schema: Schema, value: unknown, path: string, name: string, made: number): Generator<Variants> {
  const inner = schema.type === "array" ? schema.items : schema.type === "map" ? schema.values : undefined;
  if (schema.type === "object") yield* ofMessage(schema, value, path, made);
  else if (inner?.type === "object") yield* ofMessages(schema.type, inner, value, path, made);
  else {
    const states = [...new Set([value, undefined, ...valuesOf(schema, name)])];
    yield { path, lacking: value === undefined ? made + 1 : made, states };
  }
}

function* ofMessage(schema: ObjectNode, value: unknown, path: string, made: number): Generator<Variants> {
  const lacking = value === undefined ? made + 1 : made;
  if (Object.keys(schema.fields).length === 0 || value !== undefined)
    yield { path, lacking, states: [value ?? {}, undefined] };
  if (isRecord(value)) yield* variantsOf(schema, value, path, made);
  else if (made < deepest) yield* variantsOf(schema, {}, path, made + 1);
}

/** In a list or a map each is tried by itself, beside the others. */
function* ofMessages(
  type: Schema["type"],
  inner: ObjectNode,
  value: unknown,
  path: string,
  made: number,
): Generator<Variants> {
  if (type === "array") {
    const items: readonly unknown[] = Array.isArray(value) && value.length > 0 ? value : [undefined];
    for (const [index, item] of items.entries())
      for (const { states, ...field } of ofMessage(inner, item, `${path}[]`, made))
        yield { ...field, states: states.map((state) => items.toSpliced(index, 1, ...(state ? [state] : []))) };
  } else {
    const entries: Spec = isRecord(value) && Object.keys(value).length > 0 ? value : { key: undefined };
    for (const [key, item] of Object.entries(entries))
      for (const { states, ...field } of ofMessage(inner, item, `${path}.*`, made)) {
        const { [key]: _, ...others } = entries;
        yield { ...field, states: states.map((state) => ({ ...others, ...(state ? { [key]: state } : {}) })) };
      }
  }
}
