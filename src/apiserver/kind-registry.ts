/** Kubernetes' kinds and the stored CustomResourceDefinitions in, every kind that is served out; follows the definitions. */
import type { KubeObject } from "../model/index.ts";
import { computedKinds } from "./computed/kinds.ts";
import { coreKinds, customResourceDefinitions } from "./core-kinds.ts";
import { kindsOfDefinition } from "./custom-kind.ts";
import type { ApiKind } from "./kind.ts";
import type { Store } from "./store.ts";

export interface KindRegistry {
  /** Changes whenever a kind is added, changed or removed. */
  readonly generation: number;
  readonly kinds: readonly ApiKind[];
  find(group: string, version: string, plural: string): ApiKind | undefined;
  findByKind(group: string, version: string, kind: string): ApiKind | undefined;
}

export function createKindRegistry(store: Store): KindRegistry {
  const byDefinition = new Map<string, readonly ApiKind[]>();
  let all: readonly ApiKind[] = [];
  let index: ReadonlyMap<string, ApiKind> = new Map();
  let generation = 0;

  const set = (name: string, definition: KubeObject | undefined): void => {
    if (definition) byDefinition.set(name, kindsOfDefinition(definition));
    else byDefinition.delete(name);
  };
  const rebuild = (): void => {
    const defined = [...byDefinition.keys()].sort().flatMap((name) => byDefinition.get(name) ?? []);
    all = [...coreKinds, ...computedKinds, ...defined];
    index = new Map(all.map((kind) => [`${kind.group}/${kind.version}/${kind.plural}`, kind]));
    generation++;
  };
  for (const definition of store.list(customResourceDefinitions)) set(definition.metadata.name, definition);
  rebuild();
  store.subscribe((event) => {
    if (event.resource !== customResourceDefinitions) return;
    set(event.key, event.type === "DELETED" ? undefined : event.object);
    rebuild();
  });

  return {
    get generation() {
      return generation;
    },
    get kinds() {
      return all;
    },
    find: (group, version, plural) => index.get(`${group}/${version}/${plural}`),
    findByKind: (group, version, kind) =>
      all.find((k) => k.group === group && k.version === version && k.kind === kind),
  };
}
