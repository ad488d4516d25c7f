/** Types for those who must understand an Any: those that this process has used, or every one that is known. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { createRegistry, type DescFile, type DescMessage, type Registry } from "@bufbuild/protobuf";
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

/** Files whose types are made before the event loop has its turn. */
const filesAtOnce = 8;

/** Generated and well-known ones. Takes a tenth of a second, in short turns. */
export async function loadAllTypes(): Promise<Registry> {
  const { allFiles } = await import("../gen/all.js");
  const files: DescFile[] = [];
  for (const file of allFiles()) {
    files.push(file);
    if (files.length % filesAtOnce === 0) await nextTurn();
  }
  return createRegistry(...files, ...wellKnown);
}
