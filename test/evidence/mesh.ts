/** Objects beside the small mesh of `mesh.yaml` in; of each proxy a text that differs whenever it is sent anything else out. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createOffline } from "../../src/control-plane/index.ts";
import { digest, parseYaml } from "../../src/lib/index.ts";
import {
  istioVersion,
  type KubeObject,
  type Proxy,
  type ProxyConfigValues,
  type ResourceSet,
  type ResourceType,
  types,
} from "../../src/model/index.ts";
import { createEnvoyTypes, createRendering, type Renderer, type RenderingOptions } from "../../src/render/index.ts";

const watched = [
  ...[types.cluster, types.endpoint, types.listener],
  ...[types.route, types.secret, types.extension, types.nameTable],
];

/** Classes come and go with what is tried. */
const mostRenderers = 40;

/** Of somebody, a text that differs whenever what was made for him does. */
export type Made = readonly [whose: string, text: string];

export interface TrialMesh {
  /**
   * With these objects and no others beside the mesh's own: what each proxy is sent, by name. It is made as it is asked
   * for, so that who looks for a difference pays for no more than the first proxy that has one.
   */
  rendered(beside: readonly KubeObject[]): Iterable<Made>;
  /** Whatever could not be rendered since the last call, and what was left out for a fault of ours. */
  faults(): readonly string[];
  /** What now holds for a Pod's proxy. */
  settings(): ProxyConfigValues;
}

export const documents = (file: string): readonly KubeObject[] =>
  parseYaml(readFileSync(join(import.meta.dirname, file), "utf8")) as readonly KubeObject[];

export async function createTrialMesh(): Promise<TrialMesh> {
  const offline = createOffline({ objects: documents("mesh.yaml") });
  const envoyTypes = createEnvoyTypes(offline.mesh.graph);
  await envoyTypes.load();
  const faults: string[] = [];
  const onFault: RenderingOptions["onFault"] = ({ name, error }) => faults.push(`${name}: ${String(error)}`);
  const rendering = createRendering(offline.mesh, { envoyTypes, onFault });
  let present: readonly KubeObject[] = [];

  // Kept from trial to trial, so that a trial costs what its change costs.
  const renderers = new Map<string, Renderer>();
  const rendererOf = (proxy: Proxy): Renderer => {
    const proxyClass = offline.classOf(proxy);
    const key = JSON.stringify(proxyClass);
    const renderer = renderers.get(key) ?? rendering.renderer(proxyClass);
    renderers.delete(key);
    renderers.set(key, renderer);
    return renderer;
  };
  const forget = (): void => {
    for (const [key, renderer] of [...renderers].slice(0, -mostRenderers)) {
      renderer.dispose();
      renderers.delete(key);
    }
  };
  const digests = new WeakMap<ResourceSet, string>();
  const digestOf = (renderer: Renderer, type: ResourceType): string => {
    const set = renderer.set(type);
    const known = digests.get(set);
    if (known !== undefined) return known;
    const made = digest([...renderer.all(type)].map(([name, { hash }]) => `${name} ${hash}`).join("\n"));
    digests.set(set, made);
    return made;
  };
  const sent = (proxy: Proxy): string => {
    const renderer = rendererOf(proxy);
    renderer.refresh();
    return watched.map((type) => digestOf(renderer, type)).join(" ");
  };
  return {
    rendered(beside) {
      const gone = present.filter((one) => !beside.some((other) => keyOf(other) === keyOf(one)));
      offline.mesh.graph.change(() => {
        for (const object of gone) offline.source.remove(object);
        offline.source.apply(beside);
      });
      present = beside;
      forget();
      return offline
        .proxies()
        .flatMap(profiles)
        .values()
        .map((proxy, index): Made => [`proxy ${index}`, sent(proxy)]);
    },
    settings: () => offline.mesh.proxyConfig("red", { app: "a", version: "v1" }, {}),
    faults: () => [...faults.splice(0), ...offline.problems().filter((line) => line.includes("was left out"))],
  };
}

/** As the Pod has it; in one place also of another cluster and the newest version, where nothing is intercepted. */
const profiles = (proxy: Proxy): readonly Proxy[] =>
  proxy.type === "sidecar" && proxy.namespace === "red"
    ? [proxy, { ...proxy, interception: "NONE", cluster: "other", istioVersion }]
    : [proxy];

const keyOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.namespace}/${metadata.name}`;
