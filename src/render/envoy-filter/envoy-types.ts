/**
 * Every Envoy type that is known, for patches that may name any of them. Loading takes a tenth of a second, so it
 * happens only where an EnvoyFilter is met: until it is done its patches do not exist yet, then what they touch is made
 * again.
 */
import type { DescMessage, Registry } from "@bufbuild/protobuf";
import type { Graph } from "../../collections/index.ts";
import { loadAllTypes } from "../all-types.ts";
import { type ReadMessage, readMessage } from "./read-message.ts";

export interface EnvoyTypes {
  /** Recorded: whoever was told undefined is made again when the types are there. Asking starts the load. */
  current(): Registry | undefined;
  load(): Promise<void>;
  /** A patch's value as a message; kept, so it must not be changed. */
  decode(registry: Registry, schema: DescMessage, value: object): ReadMessage;
}

export function createEnvoyTypes(graph: Graph): EnvoyTypes {
  let registry: Registry | undefined;
  let loading: Promise<void> | undefined;
  const loaded = graph.memo<Registry | undefined>("envoy types", () => registry, { equals: Object.is });
  const decoded = new WeakMap<object, Map<string, ReadMessage>>();

  const load = (): Promise<void> => {
    loading ??= loadAllTypes().then((all) => {
      registry = all;
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
