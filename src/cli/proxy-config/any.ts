/** An Any in, the message inside out. */
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";

/**
 * Decodes whatever the type's name says: a dump may come from an Envoy that names the same resource by an older API
 * version.
 */
export function decodeAs<Desc extends DescMessage>(schema: Desc, any: Any): MessageShape<Desc> {
  return fromBinary(schema, any.value);
}

/** As `decodeAs`, but only where the type's name is right. */
export function decodeIf<Desc extends DescMessage>(schema: Desc, any: Any | undefined): MessageShape<Desc> | undefined {
  return any?.typeUrl.endsWith(`/${schema.typeName}`) ? fromBinary(schema, any.value) : undefined;
}
