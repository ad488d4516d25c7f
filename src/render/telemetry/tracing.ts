/** A proxy and a direction in; the tracing settings of its connection managers, and whence its spans have tags, out. */

import type { HttpConnectionManager_TracingSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import type {
  ExtensionProvider,
  OutboundFacet,
  ProxyTracing,
  TelemetryTracing,
  TracedFacet,
} from "../../model/index.ts";
import type { Fields } from "../build/fields.ts";
import type { Direction } from "../proxy/direction.ts";
import { proxyConfig } from "../proxy/proxy-config.ts";
import { versionAtLeast } from "../proxy/proxy-version.ts";
import type { View } from "../view.ts";
import type { TagSources } from "./custom-tags.ts";
import { findProvider } from "./provider.ts";
import { matchesMode, modeOf, providerNames, telemetries } from "./telemetry.ts";
import { tracingProvider } from "./tracing-provider.ts";

type TracingInit = Fields<typeof HttpConnectionManager_TracingSchema>;

export interface Tracing {
  /** Undefined where nothing is traced. Without the tags, which are each deployment's own. */
  readonly settings: TracingInit | undefined;
  readonly tags: TagSources | undefined;
  /** Whether the request id decides, and remembers, that a request is traced. */
  readonly requestIdSamples: boolean;
}

const untraced: Tracing = { settings: undefined, tags: undefined, requestIdSamples: true };

/** Undefined where neither Telemetry nor a default provider says anything: then `meshTracing` counts. */
export function telemetryTracing(view: View<TracedFacet>, direction: Direction): Tracing | undefined {
  const spec = mergedSpec(view, direction);
  if (!spec) return undefined;
  if (spec.disableSpanReporting || !spec.provider) return untraced;
  const provider = tracingProvider(view, spec.provider);
  if (!provider) return untraced;
  const own = proxyConfig(view.proxy).tracing;
  const maxPathTagLength = provider.maxPathTagLength || own?.maxPathTagLength;
  const settings: TracingInit = {
    ...provider.settings,
    ...sampling(provider.samples ? 100 : (spec.randomSamplingPercentage ?? meshSampling(own))),
    ...(maxPathTagLength ? { maxPathTagLength } : {}),
    ...(spec.disableContextPropagation && versionAtLeast(view.proxy, 1, 30) ? { noContextPropagation: true } : {}),
  };
  const { enableIstioTags: istioTags = true, customTags: telemetry } = spec;
  const tags = { istioTags, telemetry, proxyConfig: own?.customTags };
  return { settings, tags, requestIdSamples: spec.useRequestIdForTraceSampling ?? true };
}

/** Without Telemetry objects and default providers: the provider is the one in the bootstrap. */
export function meshTracing(view: View<OutboundFacet>): Tracing {
  if (!view.mesh.settings().enableTracing) return untraced;
  const own = proxyConfig(view.proxy).tracing;
  return {
    settings: {
      ...sampling(meshSampling(own)),
      ...(own?.maxPathTagLength ? { maxPathTagLength: own.maxPathTagLength } : {}),
    },
    tags: { istioTags: own?.enableIstioTags ?? true, telemetry: undefined, proxyConfig: own?.customTags },
    requestIdSamples: true,
  };
}

const sampling = (percent: number): TracingInit => ({
  clientSampling: { value: 100 },
  overallSampling: { value: 100 },
  randomSampling: { value: percent },
});

/** 1 % unless set; so is what is out of range. */
function meshSampling(own: ProxyTracing | undefined): number {
  const percent = own?.sampling ?? 0;
  return percent === 0 || percent > 100 ? 1 : percent;
}

type Spec = Omit<TelemetryTracing, "providers" | "match"> & { readonly provider: ExtensionProvider | undefined };

/** Later objects override field by field. */
function mergedSpec(view: View<TracedFacet>, direction: Direction): Spec | undefined {
  const entries = telemetries(view, "tracing").flatMap(({ spec }) => spec.tracing ?? []);
  const [fallback] = view.mesh.settings().defaultProviders?.tracing ?? [];
  if (entries.length === 0 && fallback === undefined) return undefined;
  let merged: Spec = { provider: fallback === undefined ? undefined : findProvider(view, fallback) };
  for (const { providers, match, ...fields } of entries) {
    if (!matchesMode(match?.mode, modeOf(direction))) continue;
    const [name] = providerNames(providers);
    const set = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
    merged = { ...merged, ...set, ...(name === undefined ? {} : { provider: findProvider(view, name) }) };
  }
  return merged;
}
