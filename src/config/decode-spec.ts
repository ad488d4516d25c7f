/** An object's spec in; the same decoded out, once for all who ask for as long as somebody has the object. */
import type { Kind } from "../model/index.ts";
import { type DecodedValue, decodeValue } from "./decode-value.ts";

interface Known {
  readonly kind: Kind;
  readonly decoded: DecodedValue;
}

/** A large spec takes tens of milliseconds, and the mesh, validation and every look for problems ask for each. */
const bySpec = new WeakMap<object, Known>();

export function decodeSpec(kind: Kind, { spec }: Readonly<Record<string, unknown>>): DecodedValue {
  const known = typeof spec === "object" && spec !== null ? bySpec.get(spec) : undefined;
  if (known?.kind === kind) return known.decoded;
  const decoded = decodeValue(kind.spec, spec ?? {}, "spec");
  if (typeof spec === "object" && spec !== null) bySpec.set(spec, { kind, decoded });
  return decoded;
}
