/** An extension provider in; where and how Envoy sends its spans out. */

import type { Any } from "@bufbuild/protobuf/wkt";
import { DatadogConfigSchema } from "../../gen/envoy/config/trace/v3/datadog_pb.js";
import { SkyWalkingConfigSchema } from "../../gen/envoy/config/trace/v3/skywalking_pb.js";
import {
  ZipkinConfig_CollectorEndpointVersion,
  ZipkinConfig_TraceContextOption,
  ZipkinConfigSchema,
} from "../../gen/envoy/config/trace/v3/zipkin_pb.js";
import type { HttpConnectionManager_TracingSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import type { ExtensionProvider, TracedFacet } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { duration, seconds } from "../build/duration.ts";
import type { Fields } from "../build/fields.ts";
import { packSound } from "../build/sound.ts";
import { versionAtLeast } from "../proxy/proxy-version.ts";
import type { View } from "../view.ts";
import { openTelemetryTracer } from "./open-telemetry.ts";
import { type ProviderCluster, providerCluster } from "./provider.ts";
import { headersToAdd } from "./provider-headers.ts";

export interface TracingProvider {
  readonly settings: Fields<typeof HttpConnectionManager_TracingSchema>;
  readonly maxPathTagLength: number | undefined;
  /** It decides itself what is sampled, so it must see every span. */
  readonly samples: boolean;
}

/** Undefined for providers that do not trace, whose service is unknown, or whose settings Envoy would refuse. */
export function tracingProvider(view: View<TracedFacet>, provider: ExtensionProvider): TracingProvider | undefined {
  const { zipkin, datadog, skywalking, opentelemetry } = provider;
  const target = providerCluster(view, ...serviceOf(provider));
  if (!target) return undefined;
  if (zipkin) return tracer(view, "zipkin", zipkinConfig(view, zipkin, target), zipkin.maxTagLength);
  if (datadog) return tracer(view, "datadog", datadogConfig(view, target), datadog.maxTagLength);
  if (skywalking) return tracer(view, "skywalking", skyWalkingConfig(target), undefined);
  if (!opentelemetry) return undefined;
  const config = openTelemetryTracer(view, opentelemetry, target);
  const made = tracer(view, "opentelemetry", config, opentelemetry.maxTagLength);
  return made && { ...made, samples: opentelemetry.dynatraceSampler !== undefined };
}

function serviceOf({
  zipkin,
  datadog,
  skywalking,
  opentelemetry,
}: ExtensionProvider): [string | undefined, number | undefined] {
  const chosen = zipkin ?? datadog ?? skywalking ?? opentelemetry;
  return [chosen?.service, chosen?.port];
}

/** A gateway's call is a span of its own, not part of the client's; SkyWalking always wants it so. */
function tracer(
  view: View<TracedFacet>,
  kind: string,
  config: Any | undefined,
  maxPathTagLength: number | undefined,
): TracingProvider | undefined {
  if (!config) return undefined;
  const spawn = view.proxy.type === "router" || kind === "skywalking";
  const provider = { name: `envoy.tracers.${kind}`, configType: { case: "typedConfig" as const, value: config } };
  return { settings: { provider, ...(spawn ? { spawnUpstreamSpan: true } : {}) }, maxPathTagLength, samples: false };
}

type Zipkin = NonNullable<ExtensionProvider["zipkin"]>;

function zipkinConfig(view: View<TracedFacet>, zipkin: Zipkin, { host, cluster }: ProviderCluster): Any | undefined {
  const path = zipkin.path || "/api/v2/spans";
  const w3c = zipkin.traceContextOption === "USE_B3_WITH_W3C_PROPAGATION" && versionAtLeast(view.proxy, 1, 28);
  return packSound(ZipkinConfigSchema, {
    collectorEndpointVersion: ZipkinConfig_CollectorEndpointVersion.HTTP_JSON,
    traceId128bit: !zipkin.enable64bitTraceId,
    sharedSpanContext: false,
    ...(w3c ? { traceContextOption: ZipkinConfig_TraceContextOption.USE_B3_WITH_W3C_PROPAGATION } : {}),
    ...(versionAtLeast(view.proxy, 1, 29)
      ? {
          collectorService: {
            httpUri: {
              uri: `http://${host}${path}`,
              httpUpstreamType: { case: "cluster", value: cluster },
              timeout: duration(zipkin.timeout) ?? seconds(5),
            },
            requestHeadersToAdd: headersToAdd(zipkin.headers),
          },
        }
      : { collectorCluster: cluster, collectorEndpoint: path, collectorHostname: host }),
  });
}

/** Spans go by the name of the proxy that makes them. */
const datadogConfig = (view: View<TracedFacet>, { host, cluster }: ProviderCluster): Any =>
  packAny(DatadogConfigSchema, {
    collectorCluster: cluster,
    collectorHostname: host,
    serviceName: view.proxy.self.serviceCluster,
  });

const skyWalkingConfig = ({ host, cluster }: ProviderCluster): Any =>
  packAny(SkyWalkingConfigSchema, {
    grpcService: { targetSpecifier: { case: "envoyGrpc", value: { clusterName: cluster, authority: host } } },
  });
