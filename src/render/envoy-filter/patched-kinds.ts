/** The kinds of resources in; the same, patched by the EnvoyFilters that are for the proxy, out. Without any, they cost nothing. */
import { create, fromBinary } from "@bufbuild/protobuf";
import { ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { ClusterLoadAssignmentSchema } from "../../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { isRecord } from "../../lib/index.ts";
import { bytesOf, type Resource, type ResourceType, types } from "../../model/index.ts";
import { emptyRouteConfig } from "../build/route-config.ts";
import { layersOf, type ResourceKind } from "../kind.ts";
import type { Layer } from "../layer.ts";
import { referencesOf } from "../listener/references.ts";
import { encodePart, resourceOf } from "../part.ts";
import type { View } from "../view.ts";
import { createPatchContext, type PatchContext, type PatchOptions } from "./patch-context.ts";
import { flat, patchedKind } from "./patched-kind.ts";
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
  const render = (view: View, name: string): Resource | undefined => {
    const resource = base.render?.(view, name);
    if (resource || view.proxy.type === "router" || !mayMove(view)) return resource;
    return resourceOf(name, encodePart(RouteConfigurationSchema, emptyRouteConfig(name)));
  };
  return {
    ...base,
    patched(view) {
      if (!mayMove(view)) return base.patched?.(view);
      const asked = referencesOf(layersOf(listeners, view)).routes;
      return [onlyAsked(layersOf(base, view), asked, (name) => render(view, name))];
    },
    render,
  };
}

/** Which endpoints are asked for is up to the clusters; one that no service is known for has none. */
function patchedEndpoints(context: PatchContext, base: ResourceKind, clusters: ResourceKind): ResourceKind {
  return {
    ...base,
    patched(view) {
      if (context.patches(view, ["CLUSTER"]).length === 0) return undefined;
      const layers = layersOf(base, view);
      const asked = layersOf(clusters, view).map(assignmentsOf);
      const isAsked = (name: string): boolean => asked.some((names) => names.has(name));
      const isMade = (name: string): boolean => layers.some((layer) => layer.has(name));
      const none = (clusterName: string): Resource =>
        resourceOf(
          clusterName,
          encodePart(ClusterLoadAssignmentSchema, create(ClusterLoadAssignmentSchema, { clusterName })),
        );
      const more = new Set(asked.flatMap((names) => [...names].filter((name) => !isMade(name))));
      const added: Layer = new Map([...more].map((name) => [name, none(name)]));
      if (layers.every((layer) => [...layer.keys()].every(isAsked))) return [...layers, added];
      return [new Map([...flat(layers)].filter(([name]) => isAsked(name))), added];
    },
  };
}

/** Layers never change: each is looked at once, whoever has it. */
const assignments = new WeakMap<Layer, ReadonlySet<string>>();

function assignmentsOf(layer: Layer): ReadonlySet<string> {
  const known = assignments.get(layer);
  if (known) return known;
  const names = [...layer.values()].flatMap(
    (resource) => assignmentOf(fromBinary(ClusterSchema, bytesOf(resource))) ?? [],
  );
  const found = new Set(names);
  assignments.set(layer, found);
  return found;
}

function onlyAsked(
  layers: readonly Layer[],
  names: readonly string[],
  render: (name: string) => Resource | undefined,
): Layer {
  const all = flat(layers);
  return new Map(
    names.flatMap((name) => {
      const found = all.get(name) ?? render(name);
      return found ? [[name, found] as const] : [];
    }),
  );
}

function patchedExtensions(context: PatchContext, base: ResourceKind, listeners: ResourceKind): ResourceKind {
  const all = ["EXTENSION_CONFIG", ...listenerPatcher.applyTo] as const;
  const render = (view: View, name: string): Resource | undefined => {
    const all = context.patches(view, ["EXTENSION_CONFIG"]);
    const meant = all.filter(({ value }) => isRecord(value) && value.name === name);
    const [found] = meant.length === 0 ? [] : context.made(view, { all, meant }, undefined, addedExtensions);
    return found ?? base.render?.(view, name);
  };
  return {
    type: base.type,
    refs: base.refs,
    patched(view) {
      if (context.patches(view, all).length === 0) return undefined;
      return [onlyAsked([], referencesOf(layersOf(listeners, view)).extensions, (name) => render(view, name))];
    },
    render,
  };
}

function patchedSecrets(context: PatchContext, base: ResourceKind): ResourceKind {
  return {
    ...base,
    patched(view) {
      const patches = context.patches(view, ["CLUSTER", ...listenerPatcher.applyTo]);
      const named = patches.length === 0 ? [] : secretsNamed(patches);
      if (named.length === 0) return undefined;
      const layers = layersOf(base, view);
      return [...layers, onlyAsked(layers, named, (name) => base.render?.(view, name))];
    },
  };
}
