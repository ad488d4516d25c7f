/** An encoded message in; every message, field and value of an enumeration that it uses, inside its Anys too, out. */
import { type DescField, type DescMessage, fromBinary, type Registry } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";

export function addNamesIn(names: Set<string>, registry: Registry, desc: DescMessage, bytes: Uint8Array): void {
  const walk = (message: ReflectMessage): void => {
    names.add(message.desc.typeName);
    if (message.desc.typeName === AnySchema.typeName) {
      open(message.message as Any);
      return;
    }
    for (const { no } of message.message.$unknown ?? []) names.add(`${message.desc.typeName}#${no}`);
    for (const field of message.fields) if (message.isSet(field)) walkField(message, field);
  };
  const open = ({ typeUrl, value }: Any): void => {
    const name = typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
    const inner = registry.getMessage(name);
    // A patch of a user may name any.
    if (inner) walk(reflect(inner, fromBinary(inner, value)));
    else names.add(name);
  };
  const walkField = (message: ReflectMessage, field: DescField): void => {
    names.add(`${field.parent.typeName}#${field.name}`);
    const value: unknown = message.get(field);
    if (field.enum) {
      const numbers = field.fieldKind === "enum" ? [value] : [...(value as Iterable<unknown>)];
      for (const number of numbers) names.add(`${field.enum.typeName}=${field.enum.value[Number(number)]?.name}`);
    }
    if (field.fieldKind === "message") walk(value as ReflectMessage);
    else if (field.fieldKind === "list" && field.listKind === "message")
      for (const item of value as Iterable<ReflectMessage>) walk(item);
    else if (field.fieldKind === "map" && field.mapKind === "message")
      for (const [, item] of value as Iterable<[unknown, ReflectMessage]>) walk(item);
  };
  walk(reflect(desc, fromBinary(desc, bytes)));
}
