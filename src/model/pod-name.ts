/** A Pod as a person names it (`web`, `web.shop`, `deployment/web.shop`) in; its parts out. */

export interface PodName {
  /** Empty for a Pod. */
  readonly type: string;
  readonly name: string;
  readonly namespace: string;
}

const podTypes: ReadonlySet<string> = new Set(["", "pod", "pods", "po"]);

/** The namespace stands behind the last dot of the name; a type may have dots of its own. */
export function parsePodName(text: string, namespace: string): PodName {
  const slash = text.lastIndexOf("/");
  const rest = text.slice(slash + 1);
  const dot = rest.lastIndexOf(".");
  const type = text.slice(0, Math.max(0, slash)).toLowerCase();
  return {
    type: podTypes.has(type) ? "" : type,
    name: dot < 0 ? rest : rest.slice(0, dot),
    namespace: dot < 0 ? namespace : rest.slice(dot + 1),
  };
}
