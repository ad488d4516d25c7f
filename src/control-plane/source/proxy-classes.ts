/** Connected proxies in; the class of each out, made again when something that it follows from has changed. */
import { type Memo, sameData } from "../../collections/index.ts";
import type { Mesh, Withheld } from "../../mesh/index.ts";
import type { Identity, Proxy, ProxyClass } from "../../model/index.ts";
import type { RenderFault } from "../../render/index.ts";
import type { ProxyNode } from "../../xds/index.ts";

/** A fault of ours. Without a proxy, it is in a part that many share. */
export type OnFault = (proxy: ProxyClass | undefined, fault: Pick<RenderFault, "name" | "error">) => void;

export interface ProxyClasses {
  add(id: string, node: ProxyNode, identity: Identity | undefined): void;
  /** Throws where the proxy cannot be classified and never was. */
  get(id: string): ProxyClass;
  node(id: string): ProxyNode | undefined;
  delete(id: string): void;
  /** EnvoyFilters that it is not to have; none gives it all again. */
  withhold(id: string, filters: Withheld): void;
  withheldFrom(id: string): Withheld | undefined;
  readonly size: number;
}

export interface ProxyClassesOptions {
  readonly mesh: Mesh;
  proxyOf(node: ProxyNode, identity: Identity | undefined): Proxy;
  classOf(proxy: Proxy, withheld?: Withheld): ProxyClass;
  /** The class may come out different: to be asked for again. */
  onInvalidate(id: string): void;
  readonly onFault: OnFault;
}

interface Known {
  readonly node: ProxyNode;
  readonly identity: Identity | undefined;
  last: ProxyClass | undefined;
}

export function createProxyClasses(options: ProxyClassesOptions): ProxyClasses {
  const { graph } = options.mesh;
  const proxies = new Map<string, Known>();
  const withheld = graph.source<Withheld>("EnvoyFilters withheld", { equals: sameEntries });
  const classes: Memo<ProxyClass> = graph.memo(
    "class",
    (id) => {
      const known = proxies.get(id);
      if (!known) throw new Error(`no proxy ${id}`);
      known.last = classify(known, withheld.get(id));
      return known.last;
    },
    { equals: sameData, onInvalidate: options.onInvalidate },
  );

  /** The first class has to be made; after that a fault of ours leaves the proxy in the class it has. */
  function classify({ node, identity, last }: Known, filters: Withheld | undefined): ProxyClass {
    try {
      return Object.freeze(options.classOf(options.proxyOf(node, identity), filters));
    } catch (error) {
      if (!last) throw error;
      options.onFault(last, { name: `the class of ${node.id}`, error });
      return last;
    }
  }

  return {
    add: (id, node, identity) => void proxies.set(id, { node, identity, last: undefined }),
    get: (id) => classes.get(id),
    node: (id) => proxies.get(id)?.node,
    delete(id) {
      proxies.delete(id);
      classes.drop(id);
      withheld.delete(id);
    },
    withhold(id, filters) {
      if (filters.size > 0) withheld.set(id, filters);
      else withheld.delete(id);
    },
    withheldFrom: (id) => withheld.get(id),
    get size() {
      return proxies.size;
    },
  };
}

function sameEntries(a: Withheld, b: Withheld): boolean {
  return a.size === b.size && a.keys().every((key) => b.has(key) && b.get(key) === a.get(key));
}
