/** An Any in; its message out where it is of the schema that is asked for. */
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";

export const typeNameOf = (any: Any | undefined): string => any?.typeUrl.slice(any.typeUrl.lastIndexOf("/") + 1) ?? "";

export function unpack<Desc extends DescMessage>(schema: Desc, any: Any | undefined): MessageShape<Desc> | undefined {
  return any && typeNameOf(any) === schema.typeName ? fromBinary(schema, any.value) : undefined;
}
