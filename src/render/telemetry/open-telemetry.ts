/** An OpenTelemetry provider in; Envoy's tracer for it out. */

import type { Any } from "@bufbuild/protobuf/wkt";
import type { HttpServiceSchema } from "../../gen/envoy/config/core/v3/http_service_pb.js";
import { OpenTelemetryConfigSchema } from "../../gen/envoy/config/trace/v3/opentelemetry_pb.js";
import { DynatraceResourceDetectorConfigSchema } from "../../gen/envoy/extensions/tracers/opentelemetry/resource_detectors/v3/dynatrace_resource_detector_pb.js";
import { EnvironmentResourceDetectorConfigSchema } from "../../gen/envoy/extensions/tracers/opentelemetry/resource_detectors/v3/environment_resource_detector_pb.js";
import { DynatraceSamplerConfigSchema } from "../../gen/envoy/extensions/tracers/opentelemetry/samplers/v3/dynatrace_sampler_pb.js";
import type { ExtensionProvider, ExtensionProviderHttpService, TracedFacet } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { duration, seconds } from "../build/duration.ts";
import type { Fields } from "../build/fields.ts";
import { packSound } from "../build/sound.ts";
import type { View } from "../view.ts";
import { type ProviderCluster, providerCluster } from "./provider.ts";
import { headersToAdd, headerValues } from "./provider-headers.ts";

type OpenTelemetry = NonNullable<ExtensionProvider["opentelemetry"]>;
type Config = Fields<typeof OpenTelemetryConfigSchema>;
type HttpService = Fields<typeof HttpServiceSchema>;

/** Undefined where its sampler cannot reach the service that it asks, and where Envoy would refuse it. */
export function openTelemetryTracer(
  view: View<TracedFacet>,
  otel: OpenTelemetry,
  target: ProviderCluster,
): Any | undefined {
  const sampler = otel.dynatraceSampler && dynatraceSampler(view, otel, target);
  if (otel.dynatraceSampler && !sampler) return undefined;
  const semantic = otel.serviceAttributeEnrichment === "OTEL_SEMANTIC_CONVENTIONS";
  return packSound(OpenTelemetryConfigSchema, {
    serviceName: semantic ? serviceName(view.proxy) : view.proxy.self.serviceCluster,
    ...exporter(otel, target),
    resourceDetectors: resourceDetectors(otel),
    ...(sampler ? { sampler } : {}),
  });
}

function exporter(otel: OpenTelemetry, { host, cluster }: ProviderCluster): Config {
  if (otel.http) return { httpService: httpService(joinPath(host, otel.http.path ?? ""), cluster, otel.http) };
  const timeout = duration(otel.grpc?.timeout);
  return {
    grpcService: {
      targetSpecifier: { case: "envoyGrpc", value: { clusterName: cluster, authority: host } },
      initialMetadata: headerValues(otel.grpc?.initialMetadata),
      ...(timeout ? { timeout } : {}),
    },
  };
}

/** Envoy refuses the listener without a timeout, so there is one, as Istio has for Zipkin. */
function httpService(uri: string, cluster: string, service: ExtensionProviderHttpService): HttpService {
  const timeout = duration(service.timeout) ?? seconds(5);
  return {
    httpUri: { uri, httpUpstreamType: { case: "cluster", value: cluster }, timeout },
    requestHeadersToAdd: headersToAdd(service.headers),
  };
}

/** One slash between the two, as Go's url.JoinPath has it. */
function joinPath(host: string, path: string): string {
  const bare = path.replace(/^\/+/, "");
  return bare === "" ? host : `${host}/${bare}`;
}

const detector = (name: string, typedConfig: Any) => ({
  name: `envoy.tracers.opentelemetry.resource_detectors.${name}`,
  typedConfig,
});

/** OpenTelemetry's own naming relies on what the environment says. */
function resourceDetectors(otel: OpenTelemetry) {
  const semantic = otel.serviceAttributeEnrichment === "OTEL_SEMANTIC_CONVENTIONS";
  const environment = detector("environment", packAny(EnvironmentResourceDetectorConfigSchema, {}));
  const dynatrace = detector("dynatrace", packAny(DynatraceResourceDetectorConfigSchema, {}));
  const wanted = otel.resourceDetectors;
  const out = [...(wanted?.environment ? [environment] : []), ...(wanted?.dynatrace ? [dynatrace] : [])];
  return semantic && !wanted?.environment ? [...out, environment] : out;
}

/** By OpenTelemetry's conventions for Kubernetes. The pod's own name is no part of a class of proxies, so it ends here. */
function serviceName({ self }: TracedFacet): string {
  return self.appInstance || self.appName || self.workload || "unknown_service";
}

function dynatraceSampler(view: View<TracedFacet>, otel: OpenTelemetry, target: ProviderCluster) {
  const own = otel.dynatraceSampler;
  const service = own?.httpService;
  const asked = service ? providerCluster(view, service.service, service.port) : target;
  const http = service ? (service.http ?? {}) : otel.http;
  if (!asked || !http) return undefined;
  const path = service ? (service.http?.path ?? "") : "api/v2/samplingConfiguration";
  const typedConfig = packAny(DynatraceSamplerConfigSchema, {
    tenant: own?.tenant ?? "",
    clusterId: own?.clusterId ?? 0,
    rootSpansPerMinute: own?.rootSpansPerMinute ?? 0,
    httpService: httpService(joinPath(asked.host, path), asked.cluster, http),
  });
  return { name: "envoy.tracers.opentelemetry.samplers.dynatrace", typedConfig };
}
