/** The collections of objects in; each by the name that provenance has for it out. */
import type { Collection } from "../../collections/index.ts";
import type { KubeObject } from "../../model/index.ts";

/** Of Kubernetes' own; contents of others, such as Secrets, are nobody's business here. */
const coreKinds: ReadonlyMap<string, string> = new Map([
  ...["Service", "Pod", "Namespace", "Node"].map((kind) => [kind, ""] as const),
  ["EndpointSlice", "discovery.k8s.io"],
  ["Ingress", "networking.k8s.io"],
]);

export function createObjectOf(
  kinds: ReadonlyMap<string, Collection<KubeObject>>,
  objects: (group: string, kind: string) => Collection<KubeObject>,
): (name: string) => KubeObject | undefined {
  return (name) => {
    const at = name.indexOf("/");
    const [kind, key] = [name.slice(0, at), name.slice(at + 1)];
    const group = coreKinds.get(kind);
    return (kinds.get(kind) ?? (group === undefined ? undefined : objects(group, kind)))?.get(key);
  };
}
