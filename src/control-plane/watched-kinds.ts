/** Which kinds the control plane reads, and one collection for each, from whatever source. */
import type { Collection } from "../collections/index.ts";
import { managedBy, managedLabel } from "../inject/index.ts";
import {
  type KindRef,
  kindRef,
  kubeKinds,
  type ObjectSource,
  type WatchedKind,
  type WatchScope,
} from "../kube/index.ts";
import { type KubeObject, kinds } from "../model/index.ts";

const { namespaces, nodes, pods, services, configMaps, secrets, endpointSlices, ingresses, ingressClasses } = kubeKinds;

const watchedKinds: ReadonlyMap<string, KindRef> = new Map(
  [
    ...[namespaces, nodes, pods, services, configMaps, secrets, endpointSlices, ingresses, ingressClasses],
    ...[kubeKinds.validatingWebhooks, kubeKinds.mutatingWebhooks, kubeKinds.deployments, kubeKinds.serviceAccounts],
    ...kinds.map(kindRef),
  ].map((ref) => [`${ref.group}/${ref.kind}`, ref]),
);

export function watchedKind(group: string, kind: string): KindRef {
  const ref = watchedKinds.get(`${group}/${kind}`);
  if (!ref) throw new Error(`the control plane does not know how to watch ${group}/${kind}`);
  return ref;
}

const managed: WatchScope = { labelSelector: `${managedLabel}=${managedBy}` };

/** Secrets that hold no credentials of gateways can be large and many; of others only what runs for Gateways is ours. */
const scopes: ReadonlyMap<string, WatchScope> = new Map([
  ["apps/Deployment", managed],
  ["/ServiceAccount", managed],
  ["/Secret", { fieldSelector: "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token" }],
]);

export interface WatchedObjects {
  objects(group: string, kind: string): Collection<KubeObject>;
  /** Every object that is known at this moment, of all kinds that were asked for. */
  all(): readonly KubeObject[];
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
        found = source.watchKind(watchedKind(group, kind), scopes.get(id));
        watched.set(id, found);
      }
      return found.objects;
    },
    all: () => [...watched.values()].flatMap(({ objects }) => objects.keys().flatMap((key) => objects.get(key) ?? [])),
    synced: async () => {
      await Promise.all([...watched.values()].map((kind) => kind.synced));
    },
  };
}
