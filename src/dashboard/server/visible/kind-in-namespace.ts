/** Ids of what is shown in; what one has to be allowed to see for it out. */
import type { Cause } from "../../../read-api/index.ts";

/** Objects of a kind in a namespace, empty where they are of none: what rights are about. */
export interface KindInNamespace {
  readonly kind: string;
  readonly namespace: string;
}

/** `Kind/namespace/name`, or `Kind/name` of what is of no namespace. */
export function ofObject(id: string): KindInNamespace {
  const [kind = "", ...path] = id.split("/");
  return { kind, namespace: path.length > 1 ? (path[0] ?? "") : "" };
}

/** `pod.namespace`; a namespace has no dots. */
export const ofProxy = (id: string): KindInNamespace => podsIn(id.slice(id.lastIndexOf(".") + 1));

export const podsIn = (namespace: string): KindInNamespace => ({ kind: "Pod", namespace });

/** The mesh's own settings, and nodes, reach everybody and name nobody's things. */
const common: ReadonlySet<string> = new Set(["ConfigMap", "Node"]);

export function ofCause({ object }: Cause): readonly KindInNamespace[] {
  const { kind, namespace } = ofObject(object);
  if (common.has(kind)) return [];
  if (kind === "Namespace") return [podsIn(object.slice("Namespace/".length))];
  // Of the two kinds called so, a cause does not say which it is.
  const others = kind === "Gateway" ? [{ kind: "Gateway.gateway.networking.k8s.io", namespace }] : [];
  return [{ kind, namespace }, ...others];
}
