/**
 * Every Envoy type that is known, for patches that may name any of them. Loading takes a good part of a second, so it
 * happens only where an EnvoyFilter is met: until it is done its patches do not exist yet, then what they touch is made
 * again.
 */
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
import type { Graph } from "../../collections/index.ts";
import { type ReadMessage, readMessage } from "./read-message.ts";

export interface EnvoyTypes {
  /** Recorded: whoever was told undefined is made again when the types are there. Asking starts the load. */
  current(): Registry | undefined;
  load(): Promise<void>;
  /** A patch's value as a message; kept, so it must not be changed. */
  decode(registry: Registry, schema: DescMessage, value: object): ReadMessage;
}

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

export function createEnvoyTypes(graph: Graph): EnvoyTypes {
  let registry: Registry | undefined;
  let loading: Promise<void> | undefined;
  const loaded = graph.memo<Registry | undefined>("envoy types", () => registry, { equals: Object.is });
  const decoded = new WeakMap<object, Map<string, ReadMessage>>();

  const load = (): Promise<void> => {
    loading ??= import("../../gen/all.js").then(({ allFiles }) => {
      registry = createRegistry(...allFiles, ...wellKnown);
      loaded.drop("");
    });
    return loading;
  };

  return {
    load,
    current() {
      const now = loaded.get("");
      if (!now) load().catch(() => undefined);
      return now;
    },
    decode(known, schema, value) {
      let byType = decoded.get(value);
      if (!byType) {
        byType = new Map();
        decoded.set(value, byType);
      }
      let result = byType.get(schema.typeName);
      if (!result) {
        result = readMessage(known, schema, value);
        byType.set(schema.typeName, result);
      }
      return result;
    },
  };
}
