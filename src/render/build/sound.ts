/** Fields of an extension's configuration in; the configuration out, or nothing where Envoy would refuse it and the whole resource with it. */
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { brokenConstraint } from "./constraints.ts";

export function packSound<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): Any | undefined {
  const message = create(schema, init);
  return brokenConstraint(schema, message) === undefined ? anyPack(schema, message) : undefined;
}
