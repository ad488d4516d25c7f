/** For tests: resources held in memory behind the source port, the same for every proxy, and told of when set. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  createResourceSet,
  emptyResourceSet,
  encodedResource,
  type Resource,
  type ResourceSet,
  type ResourceType,
  types,
} from "../model/index.ts";
import type { News, ProxyNode, ResourceSource } from "./source.ts";

/** A proxy that says nothing of itself. */
export const silentNode: ProxyNode = {
  id: "",
  cluster: "",
  metadata: {},
  locality: { region: "", zone: "", subZone: "" },
  extensions: new Set<string>(),
  userAgent: "",
};

const deep = (depth: number): JsonObject => (depth === 0 ? {} : { a: deep(depth - 1) });

/** For any key of a node's metadata, by kind: some are of the wrong type for each. */
export const metadataValues: Readonly<Record<string, JsonValue>> = {
  null: null,
  number: 1,
  string: "text",
  array: ["text", 1],
  object: { a: 1 },
  deep: deep(20),
};

export interface MemorySource extends ResourceSource {
  /** Replaces the resources of these types, and tells all that are connected. */
  set(resources: Partial<Record<ResourceType, readonly Resource[]>>): void;
  readonly connected: readonly ProxyNode[];
}

export function createMemorySource(): MemorySource {
  const held = new Map<ResourceType, ResourceSet>();
  const sessions = new Map<(news?: News) => void, ProxyNode>();
  return {
    get connected() {
      return [...sessions.values()];
    },
    set(resources) {
      const changed = new Map<ResourceType, ReadonlySet<string>>();
      for (const type of Object.values(types)) {
        const list = resources[type];
        if (!list) continue;
        const [before, now] = [held.get(type), createResourceSet([new Map(list.map((one) => [one.name, one]))])];
        held.set(type, now);
        changed.set(type, new Set(differing(before ?? emptyResourceSet, now)));
      }
      for (const tell of sessions.keys()) tell(changed);
    },
    connect(node, _identity, changed) {
      const tell = (news?: News): void => changed(news);
      sessions.set(tell, node);
      return {
        ready: undefined,
        all: (type) => held.get(type) ?? emptyResourceSet,
        get: (type, name) => held.get(type)?.get(name),
        forget() {},
        close: () => sessions.delete(tell),
      };
    },
  };
}

function* differing(a: ResourceSet, b: ResourceSet): Generator<string> {
  for (const [name, resource] of a.entries()) if (b.get(name)?.hash !== resource.hash) yield name;
  for (const [name] of b.entries()) if (!a.get(name)) yield name;
}

export function resource(name: string, content: Uint8Array | string, needs: readonly string[] = []): Resource {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return encodedResource(name, bytes, needs);
}
