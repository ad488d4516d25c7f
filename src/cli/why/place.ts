/** A mesh and its proxies in; what an explanation needs of them out: views of proxies by name and by address. */
import type { Offline } from "../../control-plane/index.ts";
import { createProxyView, type ProxyView } from "../../explain/index.ts";
import { unfetchedKeySet } from "../../fetch/index.ts";
import { formatIdentity, type Profile, type Proxy, type ResourceType } from "../../model/index.ts";
import { createRendering, type Renderer, type RenderingOptions } from "../../render/index.ts";

export interface Place {
  readonly proxies: readonly Proxy[];
  readonly world: {
    proxyAt(address: string): ProxyView | undefined;
    readonly jwt: { readonly now: Date; readonly unknownKeys: string };
  };
  view(proxy: Proxy): ProxyView;
  /** Objects and fields that a proxy's resource was made from. */
  causes(proxy: string, type: ResourceType, name: string): ReturnType<Renderer["causes"]>;
}

export function createPlace(offline: Offline, profile: Profile, now: Date, options: RenderingOptions): Place {
  const proxies = offline.proxies();
  const rendering = createRendering(offline.mesh, options);
  const made = new Map<string, { readonly view: ProxyView; readonly renderer: Renderer }>();
  const known = new Map<string, ReturnType<Renderer["causes"]>>();
  const byAddress = new Map(proxies.flatMap((proxy) => proxy.addresses.map((address) => [address, proxy] as const)));
  const nameOf = ({ name, namespace }: Proxy): string => `${name}.${namespace}`;
  const view = (proxy: Proxy): ProxyView => {
    const known = made.get(nameOf(proxy));
    if (known) return known.view;
    const renderer = rendering.renderer(offline.classOf({ ...proxy, profile }));
    const trustDomain = offline.mesh.settings().trustDomain ?? "cluster.local";
    const facts = {
      name: nameOf(proxy),
      kind: proxy.type === "router" ? ("gateway" as const) : ("sidecar" as const),
      addresses: proxy.addresses,
      identity: formatIdentity({
        trustDomain,
        namespace: proxy.namespace,
        serviceAccount: proxy.serviceAccount || "default",
      }),
    };
    const created = createProxyView(facts, renderer);
    made.set(nameOf(proxy), { view: created, renderer });
    return created;
  };
  return {
    proxies,
    view,
    world: {
      proxyAt(address) {
        const proxy = byAddress.get(address);
        return proxy && view(proxy);
      },
      jwt: { now, unknownKeys: unfetchedKeySet },
    },
    // Several steps are about one resource, and to collect what a large one was made from takes its time.
    causes(proxy, type, name) {
      const key = `${proxy} ${type} ${name}`;
      const found = known.get(key) ?? made.get(proxy)?.renderer.causes(type, name) ?? [];
      known.set(key, found);
      return found;
    },
  };
}
