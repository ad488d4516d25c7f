/** An EnvoyFilter's value and what it is put into in; what istioctl says of it, an error or the first field that is not known, out. */
import type { Registry } from "@bufbuild/protobuf";
import { loadAllTypes } from "../all-types.ts";
import { readMessage, type Stranger } from "./read-message.ts";

/** As the validation of EnvoyFilters wants it. */
type PatchVerdict = { readonly error?: string; readonly warnings: readonly string[] };

const patchedTypes: Readonly<Record<string, string>> = {
  CLUSTER: "envoy.config.cluster.v3.Cluster",
  LISTENER: "envoy.config.listener.v3.Listener",
  FILTER_CHAIN: "envoy.config.listener.v3.FilterChain",
  LISTENER_FILTER: "envoy.config.listener.v3.ListenerFilter",
  NETWORK_FILTER: "envoy.config.listener.v3.Filter",
  HTTP_FILTER: "envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter",
  ROUTE_CONFIGURATION: "envoy.config.route.v3.RouteConfiguration",
  VIRTUAL_HOST: "envoy.config.route.v3.VirtualHost",
  HTTP_ROUTE: "envoy.config.route.v3.Route",
  EXTENSION_CONFIG: "envoy.config.core.v3.TypedExtensionConfig",
  BOOTSTRAP: "envoy.config.bootstrap.v3.Bootstrap",
};

/** Loads every known type, which takes a tenth of a second: for those who have met an EnvoyFilter. */
export async function loadPatchChecker(): Promise<
  (applyTo: string, value: Readonly<Record<string, unknown>>) => PatchVerdict
> {
  const registry = await loadAllTypes();
  return (applyTo, value) => checkPatch(registry, applyTo, value);
}

function checkPatch(registry: Registry, applyTo: string, value: Readonly<Record<string, unknown>>): PatchVerdict {
  const schema = registry.getMessage(patchedTypes[applyTo] ?? "");
  if (!schema) return { error: `Envoy filter: unknown object type for applyTo ${applyTo}`, warnings: [] };
  const read = readMessage(registry, schema, value);
  if ("error" in read) {
    const said = `Envoy filter: ${read.error}`;
    // A mistake, or of a newer Envoy than the types known here: no reason to refuse the object.
    return read.unknown ? { warnings: [said] } : { error: said, warnings: [] };
  }
  const [first] = read.strangers;
  return { warnings: first ? [`Envoy filter: ${sayStranger(first)}`] : [] };
}

function sayStranger({ name, type, within }: Stranger): string {
  const outer = within.map((url) => `can't unmarshal Any nested proto ${url}: `).join("");
  return `${outer}unknown field ${JSON.stringify(name)} in ${type}`;
}
