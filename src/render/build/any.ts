/** A message in, the same message inside google.protobuf.Any out. */
import { create, type DescMessage, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { TypedStructSchema } from "../../gen/udpa/type/v1/typed_struct_pb.js";

export function packAny<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): Any {
  return anyPack(schema, create(schema, init));
}

/** For extensions whose protobuf type Envoy builds do not share: their fields as JSON, named as in the proto. */
export function packStruct(typeUrl: string, value: JsonObject): Any {
  return packAny(TypedStructSchema, { typeUrl, value });
}
