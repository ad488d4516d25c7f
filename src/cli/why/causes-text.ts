/** What a part was made from, ranked, in; the objects that decided it with their fields, in a few words, out. */
import type { Cause, Provenance } from "../../collections/index.ts";
import { kindRef } from "../../kube/index.ts";
import { kinds, type ResourceType, types } from "../../model/index.ts";

export interface Origin {
  /** `VirtualService/shop/web`. */
  readonly object: string;
  readonly fields: readonly string[];
}

const istio: ReadonlySet<string> = new Set(kinds.map((kind) => kindRef(kind).kind));

/** Read for nearly everything, and rarely the reason for anything. */
const background: ReadonlySet<string> = new Set(["Namespace", "Node", "Pod", "ConfigMap", "EndpointSlice"]);

/** Objects with fields first, then those that users wrote for the mesh, then the nearest. */
export function originsOf({ causes }: Provenance, type: ResourceType): readonly Origin[] {
  const fields = new Map<string, Set<string>>();
  for (const { object, field } of causes) {
    const known = fields.get(object) ?? new Set<string>();
    fields.set(object, known);
    if (field !== undefined) known.add(field);
  }
  const origins = [...fields].map(([object, own]) => ({ object, fields: [...own] }));
  const wanted = origins.filter(({ object }) => !background.has(kindOf(object)) || isEndpoint(object, type));
  return (wanted.length > 0 ? wanted : origins).toSorted((a, b) => rank(a) - rank(b));
}

const kindOf = (object: Cause["object"]): string => object.slice(0, object.indexOf("/"));

const isEndpoint = (object: string, type: ResourceType): boolean =>
  type === types.endpoint && ["EndpointSlice", "Pod"].includes(kindOf(object));

const rank = ({ object, fields }: Origin): number => (fields.length > 0 ? 0 : istio.has(kindOf(object)) ? 1 : 2);

/** More objects than these are told as a count. */
const maxObjects = 3;

export function originsText(origins: readonly Origin[]): string {
  const shown = origins.slice(0, maxObjects).map(({ object, fields }) => [object, ...fields.slice(0, 2)].join(" "));
  const more = origins.length - maxObjects;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join("; ") || "-";
}
