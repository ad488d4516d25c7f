/** Types for those who must understand an Any: those that this process has used, or every one that is known. */
import { createRegistry, type DescMessage, type Registry } from "@bufbuild/protobuf";
import {
  AnySchema,
  BoolValueSchema,
  BytesValueSchema,
  DoubleValueSchema,
  DurationSchema,
  EmptySchema,
  FloatValueSchema,
  Int32ValueSchema,
  Int64ValueSchema,
  StringValueSchema,
  StructSchema,
  TimestampSchema,
  UInt32ValueSchema,
  UInt64ValueSchema,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { loadedFiles } from "../gen/file-desc.js";

const wellKnown: readonly DescMessage[] = [
  AnySchema,
  BoolValueSchema,
  BytesValueSchema,
  DoubleValueSchema,
  DurationSchema,
  EmptySchema,
  FloatValueSchema,
  Int32ValueSchema,
  Int64ValueSchema,
  StringValueSchema,
  StructSchema,
  TimestampSchema,
  UInt32ValueSchema,
  UInt64ValueSchema,
  ValueSchema,
];

/** Whatever rendering has packed is among them; they grow, so they are asked for anew. */
export function createLoadedTypes(): () => Registry {
  let registry: Registry | undefined;
  let known = 0;
  return () => {
    if (!registry || known !== loadedFiles.length) registry = createRegistry(...loadedFiles, ...wellKnown);
    known = loadedFiles.length;
    return registry;
  };
}

/** Generated and well-known ones. Takes a good part of a second. */
export async function loadAllTypes(): Promise<Registry> {
  const { allFiles } = await import("../gen/all.js");
  return createRegistry(...allFiles, ...wellKnown);
}
