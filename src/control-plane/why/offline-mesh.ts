/** A mesh of objects in memory in; the same as requests are explained in it out. Proxies are rendered as somebody looks. */
import { createProxyView, type ProxyView } from "../../explain/index.ts";
import { unfetchedKeySet } from "../../fetch/index.ts";
import { formatIdentity, type Profile, type Proxy, type ProxyClass } from "../../model/index.ts";
import { createRendering, type Renderer, type RenderingOptions } from "../../render/index.ts";
import type { Offline } from "../offline.ts";
import { type ExplainedMesh, type ExplainedProxy, explainedName } from "./explained-mesh.ts";

export function createOfflineMesh(
  offline: Offline,
  profile: Profile,
  now: Date,
  options: RenderingOptions,
): ExplainedMesh {
  const { mesh } = offline;
  const proxies = offline.proxies();
  const byName = new Map(proxies.map((proxy) => [explainedName(proxy), proxy]));
  const byAddress = new Map(proxies.flatMap((proxy) => proxy.addresses.map((address) => [address, proxy] as const)));
  const rendering = createRendering(mesh, options);
  const made = new Map<string, { readonly view: ProxyView; readonly renderer: Renderer }>();
  const known = new Map<string, ReturnType<Renderer["causes"]>>();
  const classOf = (wanted: ExplainedProxy): ProxyClass => {
    const proxy = byName.get(explainedName(wanted));
    if (!proxy) throw new Error(`no proxy ${explainedName(wanted)}`);
    return offline.classOf({ ...proxy, profile });
  };
  const view = (wanted: ExplainedProxy): ProxyView => {
    const name = explainedName(wanted);
    const before = made.get(name);
    if (before) return before.view;
    const renderer = rendering.renderer(classOf(wanted));
    const created = createProxyView({ name, ...factsOf(wanted), identity: identityOf(byName.get(name)) }, renderer);
    made.set(name, { view: created, renderer });
    return created;
  };
  const identityOf = (proxy: Proxy | undefined): string =>
    formatIdentity({
      trustDomain: mesh.settings().trustDomain ?? "cluster.local",
      namespace: proxy?.namespace ?? "",
      serviceAccount: proxy?.serviceAccount || "default",
    });
  return {
    mesh,
    proxies,
    view,
    targets: (proxy) => classOf(proxy).targets,
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

export const factsOf = ({ type, addresses }: ExplainedProxy): Pick<ProxyView, "kind" | "addresses"> => ({
  kind: type === "router" ? "gateway" : "sidecar",
  addresses,
});
