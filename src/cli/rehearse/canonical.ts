/**
 * Encoded resources of any control plane in; the same with a digest that two have in common exactly if they mean the same,
 * out. No order counts among the endpoints of a locality and its localities, and among a route's matchers of query
 * parameters and metadata, which istiod writes in random order; nor how maps are laid out on the wire.
 */
import { type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { TypedExtensionConfigSchema } from "../../gen/envoy/config/core/v3/extension_pb.js";
import { ClusterLoadAssignmentSchema } from "../../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { digest, isRecord } from "../../lib/index.ts";
import { bytesOf, encodedResource, type Resource, type ResourceType, types } from "../../model/index.ts";
import type { ProtoJson } from "../proxy-config/proto-json.ts";

export const schemas: ReadonlyMap<ResourceType, DescMessage> = new Map<ResourceType, DescMessage>([
  [types.cluster, ClusterSchema],
  [types.endpoint, ClusterLoadAssignmentSchema],
  [types.listener, ListenerSchema],
  [types.route, RouteConfigurationSchema],
  [types.extension, TypedExtensionConfigSchema],
]);

export interface Canonical {
  /** One of our own. */
  ours(type: ResourceType, resource: Resource): Resource;
  /** One of another control plane, of which only the bytes are known. */
  theirs(type: ResourceType, name: string, bytes: Uint8Array): Resource;
  /** As JSON, in one order; undefined where it has a type that is not known here. */
  json(type: ResourceType, resource: Resource): unknown;
  /** From such JSON. */
  fromJson(type: ResourceType, name: string, json: unknown): Resource;
}

const unordered: ReadonlySet<string> = new Set(["queryParameters", "dynamicMetadata", "lbEndpoints"]);

export function createCanonical(protos: ProtoJson): Canonical {
  const known = new Map<string, Resource>();
  const schemaOf = (type: ResourceType): DescMessage => {
    const schema = schemas.get(type);
    if (!schema) throw new Error(`no schema for ${type}`);
    return schema;
  };
  const json = (type: ResourceType, bytes: Uint8Array): unknown => {
    try {
      return inOrder(protos.print(schemaOf(type), fromBinary(schemaOf(type), bytes)), "");
    } catch {
      return undefined;
    }
  };
  // Written anew, so that also what is nested in it as bytes has one form.
  const fromJson = (type: ResourceType, name: string, value: unknown): Resource => {
    const schema = schemaOf(type);
    const bytes = toBinary(schema, protos.read(schema, value));
    return {
      ...encodedResource(name, bytes, needsOf(type, name, value)),
      hash: digest(Buffer.from(JSON.stringify(value))),
    };
  };
  const canonical = (type: ResourceType, name: string, bytes: Uint8Array, hash: string): Resource => {
    const key = `${type} ${name} ${hash}`;
    const found = known.get(key);
    if (found) return found;
    const value = json(type, bytes);
    // What our types cannot print is as different as its bytes are.
    const made = value === undefined ? encodedResource(name, bytes) : fromJson(type, name, value);
    known.set(key, made);
    return made;
  };
  return {
    ours: (type, resource) => canonical(type, resource.name, bytesOf(resource), resource.hash),
    theirs: (type, name, bytes) => canonical(type, name, bytes, digest(bytes)),
    json: (type, resource) => json(type, bytesOf(resource)),
    fromJson,
  };
}

/** A copy in which lists that are sets are sorted; `endpoints` is one only where its members are localities. */
function inOrder(value: unknown, key: string): unknown {
  if (Array.isArray(value)) {
    const members = value.map((member: unknown) => inOrder(member, ""));
    const isSet = unordered.has(key) || (key === "endpoints" && members.every((one) => isRecord(one)));
    if (!isSet) return members;
    const texts = new Map(members.map((member) => [member, JSON.stringify(member)]));
    return members.sort((a, b) => ((texts.get(a) ?? "") < (texts.get(b) ?? "") ? -1 : 1));
  }
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, inOrder(value[name], name)]),
  );
}

/** Clusters that routes and listeners lead to, and the assignment of a cluster: as our own resources say it. */
function needsOf(type: ResourceType, name: string, json: unknown): readonly string[] {
  if (type === types.cluster) return isRecord(json) && json.edsClusterConfig !== undefined ? [name] : [];
  if (type !== types.route && type !== types.listener) return [];
  return [
    ...new Set(
      found(json, (key, value) => (key === "cluster" && typeof value === "string" ? [value] : weighted(key, value))),
    ),
  ];
}

function weighted(key: string, value: unknown): readonly string[] {
  if (key !== "weightedClusters" || !isRecord(value) || !Array.isArray(value.clusters)) return [];
  return value.clusters.filter(isRecord).flatMap((one) => (typeof one.name === "string" ? [one.name] : []));
}

/** Whatever `pick` finds in any field, at any depth. */
export function found(
  value: unknown,
  pick: (key: string, value: unknown, owner: Readonly<Record<string, unknown>>) => readonly string[],
): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((member: unknown) => found(member, pick));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [...pick(key, inner, value), ...found(inner, pick)]);
}
