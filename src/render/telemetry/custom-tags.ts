/** A proxy and tags as users write them in; Envoy's custom span tags, sorted by name, out. */
import { create } from "@bufbuild/protobuf";
import { type CustomTag, CustomTagSchema } from "../../gen/envoy/type/tracing/v3/custom_tag_pb.js";
import { compareText } from "../../lib/index.ts";
import type { ProxyTracing, TelemetryTracingCustomTag, TracedFacet } from "../../model/index.ts";
import type { Fields } from "../build/fields.ts";
import { versionAtLeast } from "../proxy/proxy-version.ts";

type Tags = Readonly<Record<string, TelemetryTracingCustomTag>>;
type TagType = Fields<typeof CustomTagSchema>["type"];

export interface TagSources {
  /** What says who the proxy is, and what a dry-run policy would have decided. */
  readonly istioTags: boolean;
  /** Of Telemetry objects; without any, those of ProxyConfig count. */
  readonly telemetry: Tags | undefined;
  readonly proxyConfig: ProxyTracing["customTags"];
}

export function customTags(proxy: TracedFacet, sources: TagSources): CustomTag[] {
  const own =
    sources.telemetry && Object.keys(sources.telemetry).length > 0 ? sources.telemetry : (sources.proxyConfig ?? {});
  const tags = [...(sources.istioTags ? istioTags(proxy) : []), ...userTags(proxy, own)];
  return tags.sort((a, b) => compareText(a.tag, b.tag));
}

function userTags(proxy: TracedFacet, tags: Tags): CustomTag[] {
  return Object.entries(tags).flatMap(([name, tag]) => {
    // Older proxies would refuse the field, and with it the listener.
    if (tag.formatter)
      return versionAtLeast(proxy, 1, 29)
        ? [create(CustomTagSchema, { tag: name, type: { case: "value", value: tag.formatter.value ?? "" } })]
        : [];
    const type = tagType(tag);
    return type ? [create(CustomTagSchema, { tag: name, type })] : [];
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

function istioTags(proxy: TracedFacet): CustomTag[] {
  const { self, metadata } = proxy;
  return [
    literal("istio.canonical_revision", self.canonicalRevision || "latest"),
    literal("istio.canonical_service", self.canonicalName || "unknown"),
    literal("istio.mesh_id", metadata.MESH_ID || "unknown"),
    literal("istio.namespace", proxy.namespace || "default"),
    literal("istio.cluster_id", proxy.cluster || "unknown"),
    ...["allow", "deny"].flatMap((effect) => [
      dryRun(`istio.authorization.dry_run.${effect}_policy.name`, `istio_dry_run_${effect}_shadow_effective_policy_id`),
      dryRun(`istio.authorization.dry_run.${effect}_policy.result`, `istio_dry_run_${effect}_shadow_engine_result`),
    ]),
  ];
}

const literal = (tag: string, value: string): CustomTag =>
  create(CustomTagSchema, { tag, type: { case: "literal", value: { value } } });

/** Empty, and so not sent, where no dry-run policy set the metadata. */
const dryRun = (tag: string, key: string): CustomTag =>
  create(CustomTagSchema, {
    tag,
    type: {
      case: "metadata",
      value: {
        kind: { kind: { case: "request", value: {} } },
        metadataKey: { key: "envoy.filters.http.rbac", path: [{ segment: { case: "key", value: key } }] },
      },
    },
  });
