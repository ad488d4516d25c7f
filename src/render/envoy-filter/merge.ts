/**
 * Two messages of one type in; the first with the second merged into it out. The rules are protobuf's: set fields of the
 * second replace scalars, messages merge, lists grow, entries of maps are replaced. Istio's exception: a duration is one
 * value. A wrapper that holds 0, false or "" sets an absent field and leaves a present one as it is.
 */
import type { DescMessage, Message, MessageShape, Registry } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { type Any, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";

/** What happens to lists that both have. */
export type ListRule = "append" | "replace";

export function mergeInto<Desc extends DescMessage>(
  schema: Desc,
  target: MessageShape<Desc>,
  source: MessageShape<Desc>,
  lists: ListRule,
): void {
  mergeFields(reflect(schema, target, false), reflect(schema, source, false), lists);
}

/** Field by field, as the type that both have; the reason where that cannot be. */
export function mergeAny(registry: Registry, target: Any, source: Any): Any | { readonly error: string } {
  if (nameOf(target) !== nameOf(source))
    return { error: `${nameOf(source)} cannot be merged into ${nameOf(target)}: the types differ` };
  const schema = registry.getMessage(nameOf(target));
  const [merged, patch] = [anyUnpack(target, registry), anyUnpack(source, registry)];
  if (!schema || !merged || !patch) return { error: `the type ${nameOf(target)} is not known` };
  mergeInto<DescMessage>(schema, merged as Message, patch as Message, "append");
  return anyPack(schema, merged as Message);
}

const nameOf = ({ typeUrl }: Any): string => typeUrl.slice(typeUrl.lastIndexOf("/") + 1);

function mergeFields(target: ReflectMessage, source: ReflectMessage, lists: ListRule): void {
  for (const field of source.fields) {
    if (!source.isSet(field)) continue;
    switch (field.fieldKind) {
      case "scalar":
      case "enum":
        target.set(field, source.get(field));
        break;
      case "message": {
        const isWhole = field.message.typeName === "google.protobuf.Duration";
        const merged = target.isSet(field) && !isWhole ? target.get(field) : reflect(field.message, undefined, false);
        mergeFields(merged, source.get(field), lists);
        target.set(field, merged);
        break;
      }
      case "list": {
        const list = target.get(field);
        if (lists === "replace") list.clear();
        for (const item of source.get(field)) list.add(copy(item, lists));
        break;
      }
      case "map": {
        const map = target.get(field);
        for (const [key, item] of source.get(field)) map.set(key, copy(item, lists));
        break;
      }
    }
  }
  const unknown = source.getUnknown() ?? [];
  if (unknown.length > 0) target.setUnknown([...(target.getUnknown() ?? []), ...unknown]);
}

function copy<T>(value: T | ReflectMessage, lists: ListRule): T | ReflectMessage {
  if (!isReflect(value)) return value;
  const made = reflect(value.desc, undefined, false);
  mergeFields(made, value, lists);
  return made;
}

function isReflect(value: unknown): value is ReflectMessage {
  return typeof value === "object" && value !== null && "desc" in value && "message" in value;
}
