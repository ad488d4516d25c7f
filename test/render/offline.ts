/** Objects in; resources of one proxy, as JSON by name, out: through the same stages that serve a cluster. */
import { createOffline } from "../../src/control-plane/index.ts";
import { bytesOf, type KubeObject, type Profile, type ResourceType, types } from "../../src/model/index.ts";
import { createJsonPrinter, createRenderer } from "../../src/render/index.ts";

const print = createJsonPrinter();

// biome-ignore lint/suspicious/noExplicitAny: expectations reach deep into JSON
export type Json = any;

export interface RenderedProxy {
  readonly clusters: ReadonlyMap<string, Json>;
  readonly endpoints: ReadonlyMap<string, Json>;
  readonly routes: ReadonlyMap<string, Json>;
  readonly listeners: ReadonlyMap<string, Json>;
  readonly secrets: ReadonlyMap<string, Json>;
  /** `object#field` of everything that made the resource. */
  causes(type: ResourceType, name: string): readonly string[];
}

export interface RenderInput {
  readonly objects: readonly KubeObject[];
  readonly mesh?: Readonly<Record<string, unknown>>;
  readonly profile?: Profile;
  readonly ownHostsOnly?: boolean;
  /** That the proxy says it has. */
  readonly istioVersion?: string;
}

/** For the first proxy among the objects. */
export async function renderProxy(input: RenderInput): Promise<RenderedProxy> {
  const offline = createOffline({
    objects: input.objects,
    ...(input.mesh ? { meshConfig: input.mesh } : {}),
    ...(input.ownHostsOnly ? { ownHostsOnly: true } : {}),
  });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy among the objects");
  const renderer = createRenderer(
    offline.mesh,
    offline.classOf({
      ...proxy,
      profile: input.profile ?? "istio-proxy",
      ...(input.istioVersion === undefined ? {} : { istioVersion: input.istioVersion }),
    }),
    {
      onFault: ({ name, error }) => {
        throw new Error(`${name} could not be rendered`, { cause: error });
      },
    },
  );
  const all = (type: ResourceType): ReadonlyMap<string, Json> =>
    new Map([...renderer.all(type)].map(([name, resource]) => [name, print(type, bytesOf(resource))]));
  return {
    clusters: all(types.cluster),
    endpoints: all(types.endpoint),
    routes: all(types.route),
    listeners: all(types.listener),
    secrets: all(types.secret),
    causes: (type, name) =>
      renderer.causes(type, name).map(({ object, field }) => (field === undefined ? object : `${object}#${field}`)),
  };
}
