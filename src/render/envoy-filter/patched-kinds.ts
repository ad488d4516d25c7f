/** The kinds of resources in; the same, patched by the EnvoyFilters that are for the proxy, out. Without any, they cost nothing. */
import { create, fromBinary } from "@bufbuild/protobuf";
import { ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { TypedExtensionConfigSchema } from "../../gen/envoy/config/core/v3/extension_pb.js";
import { ClusterLoadAssignmentSchema } from "../../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { type ResourceType, types } from "../../model/index.ts";
import { emptyRouteConfig } from "../build/route-config.ts";
import type { ResourceKind } from "../kind.ts";
import { referencesOf } from "../listener-references.ts";
import { encodePart, type View } from "../view.ts";
import { createPatchContext, type PatchContext, type PatchOptions } from "./patch-context.ts";
import { patchedKind } from "./patched-kind.ts";
import { addedExtensions, assignmentOf, clusterPatcher, listenerPatcher, routePatcher } from "./patcher.ts";
import { secretsNamed } from "./secrets-named.ts";

export function patchedKinds(kinds: readonly ResourceKind[], options: PatchOptions): readonly ResourceKind[] {
  const context = createPatchContext(options);
  const base = (type: ResourceType): ResourceKind => {
    const found = kinds.find((kind) => kind.type === type);
    if (!found) throw new Error(`no kind renders ${type}`);
    return found;
  };
  const clusters = patchedKind(context, base(types.cluster), clusterPatcher);
  const listeners = patchedKind(context, base(types.listener), listenerPatcher);
  const patched: readonly ResourceKind[] = [
    clusters,
    listeners,
    patchedRoutes(context, patchedKind(context, base(types.route), routePatcher), listeners),
    patchedEndpoints(context, base(types.endpoint), clusters),
    patchedExtensions(context, base(types.extension), listeners),
    patchedSecrets(context, base(types.secret)),
  ];
  return kinds.map((kind) => patched.find(({ type }) => type === kind.type) ?? kind);
}

/** Which routes are asked for is up to the listeners; a sidecar that asks for one that is not made is told an empty one. */
function patchedRoutes(context: PatchContext, base: ResourceKind, listeners: ResourceKind): ResourceKind {
  const mayMove = (view: View): boolean =>
    context.patches(view, ["LISTENER", "FILTER_CHAIN", "NETWORK_FILTER"]).length > 0;
  return {
    type: base.type,
    names: (view) => (mayMove(view) ? referencesOf(view, "patched", listeners).routes : base.names(view)),
    render(view, name) {
      const part = base.render(view, name);
      if (part || view.proxy.type === "router" || !mayMove(view)) return part;
      return encodePart(RouteConfigurationSchema, emptyRouteConfig(name));
    },
  };
}

/** Which endpoints are asked for is up to the clusters; one that no service is known for has none. */
function patchedEndpoints(context: PatchContext, base: ResourceKind, clusters: ResourceKind): ResourceKind {
  const isPatched = (view: View): boolean => context.patches(view, ["CLUSTER"]).length > 0;
  const asked = (view: View): readonly string[] =>
    view.shared("patched|endpoints", () => [
      ...new Set(
        clusters.names(view).flatMap((name) => {
          const part = clusters.render(view, name);
          return (part && assignmentOf(fromBinary(ClusterSchema, part.bytes))) ?? [];
        }),
      ),
    ]);
  return {
    type: base.type,
    names: (view) => (isPatched(view) ? asked(view) : base.names(view)),
    render(view, name) {
      const part = base.render(view, name);
      if (part || !isPatched(view) || !asked(view).includes(name)) return part;
      return encodePart(ClusterLoadAssignmentSchema, create(ClusterLoadAssignmentSchema, { clusterName: name }));
    },
  };
}

function patchedExtensions(context: PatchContext, base: ResourceKind, listeners: ResourceKind): ResourceKind {
  const all = ["EXTENSION_CONFIG", ...listenerPatcher.applyTo] as const;
  return {
    type: base.type,
    names(view) {
      if (context.patches(view, all).length === 0) return base.names(view);
      const names = referencesOf(view, "patched", listeners).extensions;
      return names.filter((name) => this.render(view, name) !== undefined);
    },
    render(view, name) {
      const patches = context.patches(view, ["EXTENSION_CONFIG"]);
      if (patches.length === 0) return base.render(view, name);
      const found = addedExtensions(context.run(view, patches)).get(name);
      return found ? encodePart(TypedExtensionConfigSchema, found) : base.render(view, name);
    },
  };
}

function patchedSecrets(context: PatchContext, base: ResourceKind): ResourceKind {
  return {
    ...base,
    names(view) {
      const patches = context.patches(view, ["CLUSTER", ...listenerPatcher.applyTo]);
      return [...new Set([...base.names(view), ...secretsNamed(patches)])];
    },
  };
}
