/** A resource in; its message out, decoded once however often it is asked for. */
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { bytesOf, type Resource } from "../../model/index.ts";

const known = new WeakMap<Resource, object>();

export function decoded<Desc extends DescMessage>(
  schema: Desc,
  resource: Resource | undefined,
): MessageShape<Desc> | undefined {
  if (!resource) return undefined;
  const found = known.get(resource) ?? fromBinary(schema, bytesOf(resource));
  known.set(resource, found);
  // A resource is of one type.
  return found as MessageShape<Desc>;
}
