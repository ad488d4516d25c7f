/** The registry's services in, who sees which of them, by namespace and by host, out. */
import type { Collection, Graph } from "../collections/index.ts";
import { compareText } from "../lib/index.ts";
import { hostKey, type Service } from "../model/index.ts";
import { everyone, exportWords } from "./visibility.ts";

/** What lists of services are made from; edits of ports and endpoints do not reach it. */
export interface ServiceHead {
  readonly key: string;
  readonly host: string;
  readonly namespace: string;
  readonly name: string;
  readonly created: string;
  readonly kubernetes: boolean;
  /** Of several objects with the host in the namespace, the first. */
  readonly primary: boolean;
  readonly object: string;
  readonly words: readonly string[];
  readonly alias: string | undefined;
}

export interface ServiceIndex {
  head(key: string): ServiceHead | undefined;
  /** Keys of services that the namespace sees: those exported to it by name first, then public ones; oldest first. */
  visible(namespace: string): readonly string[];
  isVisible(key: string, namespace: string): boolean;
  /** One per namespace. */
  ofHost(host: string): readonly string[];
  /** All that share namespace and host with the service, oldest first. */
  variants(key: string): readonly string[];
  /** Keys of ExternalName Services that lead to the host, through others if need be. */
  aliasesOf(host: string): readonly string[];
  byAge(keys: readonly string[]): readonly string[];
  /** Keys of services that everybody sees, by host. */
  readonly publicByHost: Collection<ReadonlySet<string>>;
  /** True where the namespace sees of services what everybody sees: none is private to it, or its own and another's too. */
  seesPublicOnly(namespace: string): boolean;
}

export function createServiceIndex(graph: Graph, services: Collection<Service>): ServiceIndex {
  const heads = graph.derive<Service, ServiceHead>("service heads", services, (service, key) => [
    [key, headOf(service)],
  ]);
  const byWord = graph.index(heads, "export", (head) => head.words);
  const byHost = graph.index(heads, "host", (head) => (head.primary ? [head.host] : []));
  const byHostKey = graph.index(heads, "namespace and host", (head) => [hostKey(head.key)]);
  const byPublicHost = graph.index(heads, "public host", (head) => (head.words.includes(everyone) ? [head.host] : []));
  /** Namespaces that see of their own services what others do not, or have a host that others have too. */
  const apart = graph.derive<ServiceHead, string>("services apart", heads, (head, key) =>
    head.words.includes(everyone) && byHost.get(head.host).length === 1 ? [] : [[key, head.namespace]],
  );
  const apartByNamespace = graph.index(apart, "namespace", (namespace) => [namespace]);
  const byTarget = graph.index(heads, "alias", (head) => (head.alias === undefined ? [] : [head.alias]));
  const byAge = (keys: readonly string[]): readonly string[] =>
    keys
      .flatMap((key) => heads.get(key) ?? [])
      .sort(compareHeads)
      .map((head) => head.key);
  const sorted = graph.memo<readonly string[]>("services by export", (word) => byAge(byWord.get(word)));
  const aliases = graph.memo<readonly string[]>("aliases", (host) => {
    const found = new Set<string>();
    const walk = (target: string): void => {
      for (const key of byTarget.get(target)) {
        const head = heads.get(key);
        if (!head || found.has(key)) continue;
        found.add(key);
        walk(head.host);
      }
    };
    walk(host);
    return [...found].sort();
  });
  return {
    head: (key) => heads.get(key),
    visible: (namespace) => [...sorted.get(namespace), ...sorted.get(everyone)],
    isVisible(key, namespace) {
      const words = heads.get(key)?.words ?? [];
      return words.includes(everyone) || words.includes(namespace);
    },
    ofHost: byHost.get,
    variants: (key) => byAge(byHostKey.get(hostKey(key))),
    aliasesOf: aliases.get,
    byAge,
    publicByHost: byPublicHost.groups,
    seesPublicOnly: (namespace) => byWord.get(namespace).length === 0 && apartByNamespace.get(namespace).length === 0,
  };
}

/** Oldest first. */
export function compareHeads(a: ServiceHead, b: ServiceHead): number {
  return (
    compareText(a.created, b.created) ||
    compareText(a.name, b.name) ||
    compareText(a.namespace, b.namespace) ||
    compareText(a.object, b.object)
  );
}

function headOf(service: Service): ServiceHead {
  return {
    key: service.key,
    host: service.host,
    namespace: service.namespace,
    name: service.name,
    created: service.creationTimestamp,
    kubernetes: service.registry === "Kubernetes",
    primary: service.key === hostKey(service.key),
    object: service.object,
    words: exportWords(service.exportTo ?? [everyone], service.namespace),
    alias: service.resolution === "alias" ? service.externalName : undefined,
  };
}
