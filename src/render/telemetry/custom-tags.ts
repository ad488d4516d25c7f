/** A proxy and tags as users write them in; Envoy's custom span tags, encoded and sorted by name, out. */
import { create, toBinary } from "@bufbuild/protobuf";
import { HttpConnectionManager_TracingSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { CustomTag_LiteralSchema, CustomTagSchema } from "../../gen/envoy/type/tracing/v3/custom_tag_pb.js";
import { compareText } from "../../lib/index.ts";
import type { ProxyTracing, TelemetryTracingCustomTag, TracedFacet } from "../../model/index.ts";
import type { Fields } from "../build/fields.ts";
import { tracedFacet } from "../facets.ts";
import { encodePart, flat, joined, nested, type Part, partOf, placeOf, samePart, textIn } from "../part.ts";
import { versionAtLeast } from "../proxy/proxy-version.ts";
import { recipe } from "../recipe.ts";
import type { View } from "../view.ts";

type Tags = Readonly<Record<string, TelemetryTracingCustomTag>>;
type TagType = Fields<typeof CustomTagSchema>["type"];

export interface TagSources {
  /** What says who the proxy is, and what a dry-run policy would have decided. */
  readonly istioTags: boolean;
  /** Of Telemetry objects; without any, those of ProxyConfig count. */
  readonly telemetry: Tags | undefined;
  readonly proxyConfig: ProxyTracing["customTags"];
}

interface Tag {
  readonly name: string;
  readonly part: Part;
}

/** As part of the tracing settings. They name the workload, but mostly say the same in both directions. */
export const customTags = (view: View<TracedFacet>, sources: TagSources): Part =>
  encodedTags(view, JSON.stringify(sources));

const encodedTags = recipe(
  tracedFacet,
  "span tags",
  ({ proxy }, key): Part => {
    const { istioTags: wanted, telemetry, proxyConfig } = JSON.parse(key) as TagSources;
    const own = telemetry && Object.keys(telemetry).length > 0 ? telemetry : (proxyConfig ?? {});
    const [mine, users] = [wanted ? istioTags(proxy) : [], userTags(proxy, own)];
    const tags = users.length === 0 ? mine : [...mine, ...users].sort((a, b) => compareText(a.name, b.name));
    return flat(joined(tags.map(({ part }) => part)));
  },
  samePart,
);

function userTags(proxy: TracedFacet, tags: Tags): Tag[] {
  return Object.entries(tags).flatMap(([name, tag]) => {
    // Older proxies would refuse the field, and with it the listener.
    if (tag.formatter)
      return versionAtLeast(proxy, 1, 29)
        ? [encodedTag(name, { case: "value", value: tag.formatter.value ?? "" })]
        : [];
    const type = tagType(tag);
    return type ? [encodedTag(name, type)] : [];
  });
}

function tagType(tag: TelemetryTracingCustomTag): TagType | undefined {
  if (tag.literal) return { case: "literal", value: { value: tag.literal.value ?? "" } };
  if (tag.environment) {
    return {
      case: "environment",
      value: { name: tag.environment.name ?? "", defaultValue: tag.environment.defaultValue ?? "" },
    };
  }
  if (tag.header)
    return {
      case: "requestHeader",
      value: { name: tag.header.name ?? "", defaultValue: tag.header.defaultValue ?? "" },
    };
  return undefined;
}

/** In the order of their names. */
function istioTags(proxy: TracedFacet): readonly Tag[] {
  const { self, metadata } = proxy;
  return [
    ...dryRunTags,
    tagsOfSelf.revision(self.canonicalRevision || "latest"),
    tagsOfSelf.service(self.canonicalName || "unknown"),
    tagsOfSelf.cluster(proxy.cluster || "unknown"),
    tagsOfSelf.mesh(metadata.MESH_ID || "unknown"),
    tagsOfSelf.namespace(proxy.namespace || "default"),
  ];
}

/** Each deployment has its own: of its tags only the text is encoded for it. */
function literal(name: string): (value: string) => Tag {
  const head = toBinary(CustomTagSchema, create(CustomTagSchema, { tag: name }));
  const places = [
    placeOf(HttpConnectionManager_TracingSchema, "customTags"),
    placeOf(CustomTagSchema, "literal", head),
    placeOf(CustomTag_LiteralSchema, "value"),
  ];
  let last: { readonly value: string; readonly tag: Tag } | undefined;
  return (value) => {
    // Of the mesh, the cluster and the namespace the next proxy mostly has the same.
    if (last?.value !== value) last = { value, tag: { name, part: partOf([textIn(places, value)]) } };
    return last.tag;
  };
}

const tagsOfSelf = {
  revision: literal("istio.canonical_revision"),
  service: literal("istio.canonical_service"),
  mesh: literal("istio.mesh_id"),
  namespace: literal("istio.namespace"),
  cluster: literal("istio.cluster_id"),
};

/** Empty, and so not sent, where no dry-run policy set the metadata. */
const dryRun = (name: string, key: string): Tag =>
  encodedTag(name, {
    case: "metadata",
    value: {
      kind: { kind: { case: "request", value: {} } },
      metadataKey: { key: "envoy.filters.http.rbac", path: [{ segment: { case: "key", value: key } }] },
    },
  });

const dryRunTags: readonly Tag[] = ["allow", "deny"].flatMap((effect) => [
  dryRun(`istio.authorization.dry_run.${effect}_policy.name`, `istio_dry_run_${effect}_shadow_effective_policy_id`),
  dryRun(`istio.authorization.dry_run.${effect}_policy.result`, `istio_dry_run_${effect}_shadow_engine_result`),
]);

function encodedTag(name: string, type: TagType): Tag {
  const tag = encodePart(CustomTagSchema, create(CustomTagSchema, { tag: name, ...(type ? { type } : {}) }));
  return { name, part: nested(HttpConnectionManager_TracingSchema, "customTags", tag) };
}
