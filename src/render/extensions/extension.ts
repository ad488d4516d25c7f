/** WasmPlugins and TrafficExtensions in; the extensions of one proxy, as one kind of thing and in order, out. */
import type {
  ClientFacet,
  Config,
  LuaConfig,
  TrafficExtensionSpec,
  TrafficSelector,
  WasmConfig,
  WasmPluginSpec,
} from "../../model/index.ts";
import { outboundFacet } from "../facets.ts";
import { recipe } from "../recipe.ts";
import type { View } from "../view.ts";

/** In the order on the wire. */
export type ExtensionPhase = "AUTHN" | "AUTHZ" | "STATS" | "UNSPECIFIED_PHASE";

export interface Extension {
  readonly object: { readonly kind: string; readonly name: string; readonly namespace: string };
  /** What filters and ECDS call it. */
  readonly resource: string;
  /** `namespace.name`: what Wasm calls it. */
  readonly name: string;
  readonly namespace: string;
  readonly version: string;
  readonly phase: ExtensionPhase;
  readonly priority: number;
  readonly match: readonly TrafficSelector[];
  readonly code:
    | { readonly kind: "wasm"; readonly type: "HTTP" | "NETWORK"; readonly wasm: WasmConfig }
    | { readonly kind: "lua"; readonly lua: LuaConfig };
}

const resourcePrefix = "extensions.istio.io/trafficextension/";

/** Istio turns a WasmPlugin into a TrafficExtension of a name that no user can write. */
const pluginMarker = "~istio-translated-wasmplugin";

/** Own namespace first, then the root one, oldest first in each; within a phase the highest priority first. */
export const attachedExtensions = recipe(outboundFacet, "extensions", ({ mesh, proxy }): readonly Extension[] =>
  proxy.extensions
    .flatMap((id) => {
      const at = id.indexOf("/");
      const key = id.slice(at + 1);
      if (id.slice(0, at) === "TrafficExtension") return mesh.trafficExtension(key) ?? [];
      const plugin = mesh.wasmPlugin(key);
      return plugin ? [asTrafficExtension(plugin)] : [];
    })
    .flatMap((config) => readExtension(config) ?? [])
    .sort((a, b) => b.priority - a.priority),
);

/** A proxy may ask for any extension of its own namespace and of the root one. */
export function namedExtension(view: View<ClientFacet>, resource: string): Extension | undefined {
  const match = /^([^.]+)\.(.+)$/.exec(
    resource.startsWith(resourcePrefix) ? resource.slice(resourcePrefix.length) : "",
  );
  if (!match) return undefined;
  const [, namespace = "", name = ""] = match;
  if (namespace !== view.proxy.namespace && namespace !== view.mesh.settings().rootNamespace) return undefined;
  if (!name.endsWith(pluginMarker)) {
    const config = view.mesh.trafficExtension(`${namespace}/${name}`);
    return config && readExtension(config);
  }
  const plugin = view.mesh.wasmPlugin(`${namespace}/${name.slice(0, -pluginMarker.length)}`);
  return plugin && readExtension(asTrafficExtension(plugin));
}

function asTrafficExtension({ kind, meta, spec }: Config<WasmPluginSpec>): Config<TrafficExtensionSpec> {
  const { phase, priority, match = [], selector: _s, targetRef: _r, targetRefs: _t, ...wasm } = spec;
  return {
    kind,
    meta: { ...meta, name: `${meta.name}${pluginMarker}` },
    spec: {
      ...(phase === undefined || phase === "UNSPECIFIED_PHASE" ? {} : { phase }),
      ...(priority === undefined ? {} : { priority }),
      match,
      wasm,
    },
  };
}

/** Undefined for what istiod leaves out: no code, or code that is empty or too long. */
function readExtension({ kind, meta, spec }: Config<TrafficExtensionSpec>): Extension | undefined {
  const code = codeOf(spec);
  if (!code) return undefined;
  const { namespace, name, resourceVersion = "1" } = meta;
  const { phase = "UNSPECIFIED", priority, match = [] } = spec;
  const written = name.endsWith(pluginMarker) ? name.slice(0, -pluginMarker.length) : name;
  return {
    object: { kind, namespace, name: written },
    resource: `${resourcePrefix}${namespace}.${name}`,
    name: `${namespace}.${name}`,
    namespace,
    version: resourceVersion,
    phase: phase === "UNSPECIFIED" ? "UNSPECIFIED_PHASE" : phase,
    priority: priority ?? Number.NEGATIVE_INFINITY,
    match,
    code,
  };
}

const maxLuaBytes = 65_536;

function codeOf({ wasm, lua }: TrafficExtensionSpec): Extension["code"] | undefined {
  if (wasm) return wasm.url ? { kind: "wasm", type: wasm.type === "NETWORK" ? "NETWORK" : "HTTP", wasm } : undefined;
  const bytes = Buffer.byteLength(lua?.inlineCode ?? "");
  return lua && bytes > 0 && bytes <= maxLuaBytes ? { kind: "lua", lua } : undefined;
}
