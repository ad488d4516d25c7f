/** For tests: resources held in memory behind the source port, the same for every proxy, and told of when set. */
import { digest } from "../lib/index.ts";
import { type Resource, type ResourceType, types } from "../model/index.ts";
import type { ProxyNode, ResourceSource } from "./source.ts";

export interface MemorySource extends ResourceSource {
  /** Replaces the resources of these types, and tells all that are connected. */
  set(resources: Partial<Record<ResourceType, readonly Resource[]>>): void;
  readonly connected: readonly ProxyNode[];
}

export function createMemorySource(): MemorySource {
  const held = new Map<ResourceType, ReadonlyMap<string, Resource>>();
  const sessions = new Map<(types: ReadonlySet<ResourceType>) => void, ProxyNode>();
  const none: ReadonlyMap<string, Resource> = new Map();
  return {
    get connected() {
      return [...sessions.values()];
    },
    set(resources) {
      const changed = new Set<ResourceType>();
      for (const type of Object.values(types)) {
        const list = resources[type];
        if (!list) continue;
        held.set(type, new Map(list.map((resource) => [resource.name, resource])));
        changed.add(type);
      }
      for (const tell of sessions.keys()) tell(changed);
    },
    connect(node, _identity, changed) {
      const tell = (news: ReadonlySet<ResourceType>): void => changed(news);
      sessions.set(tell, node);
      return {
        all: (type) => held.get(type) ?? none,
        get: (type, name) => held.get(type)?.get(name),
        close: () => sessions.delete(tell),
      };
    },
  };
}

export function resource(name: string, content: Uint8Array | string, needs: readonly string[] = []): Resource {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return { name, bytes, hash: digest(bytes), needs };
}
