/**
 * Clusters that were refused by name in; what Envoy passes over of the responses that it takes after it out. Envoy puts a
 * cluster among those that warm before it makes the load balancer. Where that fails it refuses the cluster and leaves it
 * there, and when the same comes again it says nothing, and has it as little as before.
 */
import type { Resource } from "../../model/index.ts";

export interface Refused {
  readonly hash: string;
  readonly words: string;
}

/** What a response says of a name; undefined where it says nothing. */
export type Said = { readonly resource: Resource | undefined } | undefined;

/** Versions of one cluster, one refused after the other. */
const maxVersions = 8;

export class HalfMade {
  /** The newest first. What Envoy refuses before it warms leaves what was half-made in place: any of these may be there. */
  readonly #versions = new Map<string, readonly Refused[]>();

  note(name: string, refused: Refused): void {
    const others = this.#versions.get(name)?.filter(({ hash }) => hash !== refused.hash) ?? [];
    this.#versions.set(name, [refused, ...others.slice(0, maxVersions - 1)]);
  }

  has(name: string): boolean {
    return this.#versions.has(name);
  }

  forget(name: string): void {
    this.#versions.delete(name);
  }

  /** Of a response that was taken. What else it has of a name, or leaves out, Envoy has looked at: nothing is half-made then. */
  passedOver(said: (name: string) => Said): ReadonlyMap<string, Refused> {
    const names = new Map<string, Refused>();
    for (const [name, versions] of this.#versions) {
      const part = said(name);
      const refused = versions.find(({ hash }) => hash === part?.resource?.hash);
      if (refused) names.set(name, refused);
      else if (part) this.#versions.delete(name);
    }
    return names;
  }
}
