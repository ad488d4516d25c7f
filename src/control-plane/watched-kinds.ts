/** Which kinds the control plane reads, and one collection for each, from whatever source. */
import type { Collection } from "../collections/index.ts";
import type { KindRef, ObjectSource, WatchedKind } from "../kube/index.ts";
import { type Kind, type KubeObject, kinds, storageVersion } from "../model/index.ts";

const core = (group: string, plural: string, kind: string, namespaced = true): KindRef => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced,
});

const coreKinds: readonly KindRef[] = [
  core("", "namespaces", "Namespace", false),
  core("", "nodes", "Node", false),
  core("", "pods", "Pod"),
  core("", "services", "Service"),
  core("", "configmaps", "ConfigMap"),
  core("", "secrets", "Secret"),
  core("discovery.k8s.io", "endpointslices", "EndpointSlice"),
  core("networking.k8s.io", "ingresses", "Ingress"),
  core("networking.k8s.io", "ingressclasses", "IngressClass", false),
  core("admissionregistration.k8s.io", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false),
];

/** How the API spells a kind of the mesh, in the version that it stores. */
export function kindRef(kind: Kind): KindRef {
  return {
    group: kind.group,
    version: storageVersion(kind),
    plural: kind.plural,
    kind: kind.kind,
    namespaced: kind.scope === "Namespaced",
  };
}

const watchedKinds: ReadonlyMap<string, KindRef> = new Map(
  [...coreKinds, ...kinds.map(kindRef)].map((ref) => [`${ref.group}/${ref.kind}`, ref]),
);

export function watchedKind(group: string, kind: string): KindRef {
  const ref = watchedKinds.get(`${group}/${kind}`);
  if (!ref) throw new Error(`the control plane does not know how to watch ${group}/${kind}`);
  return ref;
}

export interface WatchedObjects {
  objects(group: string, kind: string): Collection<KubeObject>;
  /** Resolves when everything asked for so far has been listed once. */
  synced(): Promise<void>;
}

/** Kinds are watched when a stage first asks for them, each once. */
export function watchObjects(source: ObjectSource): WatchedObjects {
  const watched = new Map<string, WatchedKind>();
  return {
    objects(group, kind) {
      const id = `${group}/${kind}`;
      let found = watched.get(id);
      if (!found) {
        found = source.watchKind(watchedKind(group, kind));
        watched.set(id, found);
      }
      return found.objects;
    },
    synced: async () => {
      await Promise.all([...watched.values()].map((kind) => kind.synced));
    },
  };
}
