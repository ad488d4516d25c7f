/**
 * The values of an installation (Istio's chart's names) in; what injection reads of them, with defaults for what was
 * left out, out. `global.proxy.resources` and other structures are taken as they are: whoever left them out of a
 * complete set of values has removed them.
 */
import { isRecord, readList, readRecord, readTextMap, readTexts } from "../lib/index.ts";
import { fairleadHub, fairleadImage, fairleadVersion, type LabelSelector } from "../model/index.ts";
import type { Fields } from "./pod.ts";

export interface InjectValues {
  readonly revision: string;
  readonly hub: string;
  readonly tag: string;
  readonly variant: string;
  readonly imagePullPolicy: string;
  readonly imagePullSecrets: readonly string[];
  readonly istioNamespace: string;
  readonly certProvider: string;
  readonly caAddress: string;
  readonly caName: string;
  readonly meshId: string;
  readonly trustDomain: string;
  readonly trustBundleName: string;
  readonly crlConfigMap: string;
  readonly clusterTrustBundles: boolean;
  readonly cluster: string;
  readonly network: string;
  readonly mountMtlsCerts: boolean;
  readonly nativeNftables: boolean;
  readonly logAsJson: boolean;
  readonly logLevel: string;
  readonly stsPort: string;
  readonly tokenAudience: string;
  readonly proxy: ProxyValues;
  readonly initImage: string;
  readonly forceApplyIptables: boolean;
  readonly cni: { readonly enabled: boolean; readonly provider: string };
  readonly gatewaySecurityContext: Fields | undefined;
  readonly gatewaySeccompProfile: Fields | undefined;
  readonly rewriteProbes: boolean;
  readonly holdApplication: boolean;
}

export interface ProxyValues {
  readonly image: string;
  readonly clusterDomain: string;
  readonly logLevel: string;
  readonly componentLogLevel: string;
  readonly outlierLogPath: string;
  readonly privileged: boolean;
  readonly capNetBindService: string;
  readonly includeIpRanges: string;
  readonly excludeIpRanges: string;
  readonly includeInboundPorts: string;
  readonly excludeInboundPorts: string;
  readonly includeOutboundPorts: string;
  readonly excludeOutboundPorts: string;
  readonly statusPort: string;
  readonly readinessInitialDelaySeconds: string;
  readonly readinessPeriodSeconds: string;
  readonly readinessFailureThreshold: string;
  readonly startupFailureThreshold: number | undefined;
  readonly resources: Fields | undefined;
  readonly lifecycle: Fields | undefined;
  readonly seccompProfile: Fields | undefined;
  readonly tracer: string;
}

/** A scalar as text; `fallback` for what is not there. */
function scalar(fields: Fields, name: string, fallback: string): string {
  const value = fields[name];
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : fallback;
}

function flag(fields: Fields, name: string, fallback = false): boolean {
  const value = fields[name];
  return value === undefined || value === null ? fallback : value === true || value === "true";
}

function structure(value: unknown): Fields | undefined {
  return isRecord(value) && Object.keys(value).length > 0 ? value : undefined;
}

export function readValues(given: unknown): InjectValues {
  const values = readRecord(given);
  const global = readRecord(values.global);
  const pilot = readRecord(values.pilot);
  const cni = readRecord(pilot.cni);
  return {
    revision: scalar(values, "revision", ""),
    hub: scalar(global, "hub", fairleadHub),
    tag: scalar(global, "tag", fairleadVersion),
    variant: scalar(global, "variant", ""),
    imagePullPolicy: scalar(global, "imagePullPolicy", ""),
    imagePullSecrets: readTexts(global.imagePullSecrets),
    istioNamespace: scalar(global, "istioNamespace", "istio-system"),
    certProvider: scalar(global, "pilotCertProvider", "istiod"),
    caAddress: scalar(global, "caAddress", ""),
    caName: scalar(global, "caName", ""),
    meshId: scalar(global, "meshID", ""),
    trustDomain: scalar(global, "trustDomain", ""),
    trustBundleName: scalar(global, "trustBundleName", ""),
    crlConfigMap: scalar(pilot, "crlConfigMapName", "") || "istio-ca-crl",
    clusterTrustBundles: readRecord(pilot.env).ENABLE_CLUSTER_TRUST_BUNDLE_API === true,
    cluster: scalar(readRecord(global.multiCluster), "clusterName", ""),
    network: scalar(global, "network", ""),
    mountMtlsCerts: flag(global, "mountMtlsCerts"),
    nativeNftables: flag(global, "nativeNftables"),
    logAsJson: flag(global, "logAsJson"),
    logLevel: scalar(readRecord(global.logging), "level", "default:info"),
    stsPort: scalar(readRecord(global.sts), "servicePort", "0"),
    tokenAudience: scalar(readRecord(readRecord(global.sds).token), "aud", "istio-ca"),
    proxy: readProxy(global.proxy),
    initImage: scalar(readRecord(global.proxy_init), "image", "") || fairleadImage,
    forceApplyIptables: flag(readRecord(global.proxy_init), "forceApplyIptables"),
    cni: { enabled: flag(cni, "enabled"), provider: scalar(cni, "provider", "default") },
    gatewaySecurityContext: structure(readRecord(values.gateways).securityContext),
    gatewaySeccompProfile: structure(readRecord(values.gateways).seccompProfile),
    rewriteProbes: flag(readRecord(values.sidecarInjectorWebhook), "rewriteAppHTTPProbe", true),
    holdApplication: flag(readRecord(global.proxy), "holdApplicationUntilProxyStarts"),
  };
}

function readProxy(given: unknown): ProxyValues {
  const proxy = readRecord(given);
  const startup = readRecord(proxy.startupProbe);
  return {
    image: scalar(proxy, "image", "") || fairleadImage,
    clusterDomain: scalar(proxy, "clusterDomain", "cluster.local"),
    logLevel: scalar(proxy, "logLevel", "warning"),
    componentLogLevel: scalar(proxy, "componentLogLevel", "misc:error"),
    outlierLogPath: scalar(proxy, "outlierLogPath", ""),
    privileged: flag(proxy, "privileged"),
    capNetBindService: scalar(proxy, "capNetBindService", ""),
    includeIpRanges: scalar(proxy, "includeIPRanges", "*"),
    excludeIpRanges: scalar(proxy, "excludeIPRanges", ""),
    includeInboundPorts: scalar(proxy, "includeInboundPorts", "*"),
    excludeInboundPorts: scalar(proxy, "excludeInboundPorts", ""),
    includeOutboundPorts: scalar(proxy, "includeOutboundPorts", ""),
    excludeOutboundPorts: scalar(proxy, "excludeOutboundPorts", ""),
    statusPort: scalar(proxy, "statusPort", "15020"),
    readinessInitialDelaySeconds: scalar(proxy, "readinessInitialDelaySeconds", "0"),
    readinessPeriodSeconds: scalar(proxy, "readinessPeriodSeconds", "15"),
    readinessFailureThreshold: scalar(proxy, "readinessFailureThreshold", "4"),
    startupFailureThreshold: flag(startup, "enabled", true)
      ? Number(scalar(startup, "failureThreshold", "600"))
      : undefined,
    resources: structure(isRecord(given) ? withoutNulls(proxy.resources) : defaultResources),
    lifecycle: structure(proxy.lifecycle),
    seccompProfile: structure(proxy.seccompProfile),
    tracer: scalar(proxy, "tracer", "none"),
  };
}

const defaultResources = {
  limits: { cpu: "2000m", memory: "1024Mi" },
  requests: { cpu: "100m", memory: "128Mi" },
};

/** A null takes a default away. */
function withoutNulls(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, withoutNulls(inner)] as const);
  return Object.fromEntries(
    entries.filter(([, inner]) => inner !== null && !(isRecord(inner) && Object.keys(inner).length === 0)),
  );
}

/** Which Pods are injected, and with what: the values' part on the webhook, or the `config` of its ConfigMap. */
export interface InjectPolicy {
  readonly enabledByDefault: boolean;
  readonly neverInject: readonly LabelSelector[];
  readonly alwaysInject: readonly LabelSelector[];
  readonly injectedAnnotations: Readonly<Record<string, string>>;
  readonly defaultTemplates: readonly string[];
  readonly aliases: ReadonlyMap<string, readonly string[]>;
  /** Texts of templates by name; those of the names that are built in are not read. */
  readonly templates: ReadonlyMap<string, string>;
}

export function readPolicy(given: unknown): InjectPolicy {
  const config = readRecord(given);
  const selectors = (value: unknown): readonly LabelSelector[] => readList(value).filter(isRecord);
  const defaults = readTexts(config.defaultTemplates);
  return {
    enabledByDefault: config.policy === undefined || config.policy === "enabled",
    neverInject: selectors(config.neverInjectSelector),
    alwaysInject: selectors(config.alwaysInjectSelector),
    injectedAnnotations: readTextMap(config.injectedAnnotations),
    defaultTemplates: defaults.length > 0 ? defaults : ["sidecar"],
    aliases: new Map(Object.entries(readRecord(config.aliases)).map(([name, to]) => [name, readTexts(to)])),
    templates: new Map(Object.entries(readTextMap(config.templates))),
  };
}
