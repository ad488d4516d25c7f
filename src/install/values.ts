/**
 * Every value of an installation, written down once: its default, its type and what it does. From it come the defaults,
 * the chart's values.yaml and JSON schema, and the check of what users write. Where a value means what one of Istio's
 * chart means, it has its name.
 */
import { fairleadHub, fairleadImage, fairleadVersion } from "../model/index.ts";

export interface ValueNode {
  readonly type: "string" | "boolean" | "integer" | "number" | "array" | "object" | "any";
  readonly about: string;
  readonly default?: unknown;
  readonly choices?: readonly string[];
  /** Of a text that becomes part of objects' names, and of a list of such: how long it may be. */
  readonly nameUpTo?: number;
  /** Of an object with known members; an object without takes any. */
  readonly fields?: Readonly<Record<string, ValueNode>>;
}

const text = (standard: string, about: string): ValueNode => ({ type: "string", about, default: standard });
/** Services, whose names have 63 characters, are called after it: `around` is how many others there are in them. */
const name = (standard: string, around: string, about: string): ValueNode => ({
  ...text(standard, about),
  nameUpTo: 63 - around.length,
});
const choice = (standard: string, choices: readonly string[], about: string): ValueNode => ({
  ...text(standard, about),
  choices,
});
const flag = (standard: boolean, about: string): ValueNode => ({ type: "boolean", about, default: standard });
const number = (standard: number, about: string): ValueNode => ({ type: "integer", about, default: standard });
/** A text or a number: ports and tags are written either way. */
const scalar = (standard: string | number, about: string): ValueNode => ({ type: "any", about, default: standard });
const list = (about: string, standard: readonly unknown[] = []): ValueNode => ({
  type: "array",
  about,
  default: standard,
});
const map = (about: string, standard: object = {}): ValueNode => ({ type: "object", about, default: standard });
const group = (about: string, fields: Readonly<Record<string, ValueNode>>): ValueNode => ({
  type: "object",
  about,
  fields,
});

const pilot = group("The control plane's Deployment.", {
  autoscaleEnabled: flag(true, "Scale by CPU use."),
  autoscaleMin: number(2, "Fewest replicas."),
  autoscaleMax: number(5, "Most replicas."),
  replicaCount: number(2, "Replicas where autoscaling is off."),
  cpu: group("What autoscaling looks at.", {
    targetAverageUtilization: number(70, "CPU use, in percent of the request, that replicas are kept at."),
  }),
  rollingMaxSurge: scalar("100%", "Replicas that may be added while a new version rolls out."),
  rollingMaxUnavailable: scalar("25%", "Replicas that may be missing meanwhile."),
  hub: text("", "Where the image is, instead of global.hub."),
  tag: scalar("", "The image's tag, instead of global.tag."),
  image: text(fairleadImage, "Name of the image below the hub, or a whole reference with a slash in it."),
  resources: map("Requests and limits.", { requests: { cpu: "200m", memory: "256Mi" } }),
  env: map("Further environment variables, such as PILOT_DEBOUNCE_AFTER."),
  extraContainerArgs: list("Further arguments."),
  nodeSelector: map("Nodes it may run on."),
  tolerations: list("Taints it tolerates."),
  affinity: map("Affinity, instead of keeping replicas on different nodes."),
  topologySpreadConstraints: list("How replicas are spread."),
  podAnnotations: map("Annotations of its Pods."),
  podLabels: map("Labels of its Pods."),
  deploymentLabels: map("Labels of the Deployment."),
  serviceAnnotations: map("Annotations of its Service."),
  serviceAccountAnnotations: map("Annotations of its account."),
  seccompProfile: map("Seccomp profile.", { type: "RuntimeDefault" }),
  keepaliveMaxServerConnectionAge: text(
    "30m",
    "How long a connection of a proxy lives before it is asked to come again.",
  ),
  crlConfigMapName: text("", "ConfigMap with revoked certificates that proxies mount."),
  cni: group("Capture of traffic by a CNI plugin instead of an init container.", {
    enabled: flag(false, "The cluster has Istio's CNI plugin."),
    provider: choice("default", ["default", "multus"], "How the plugin is chained."),
  }),
});

const proxy = group("The proxy that is injected.", {
  image: text(fairleadImage, "Name of the proxy's image below the hub: proxyv2, with hub docker.io/istio, is Istio's."),
  autoInject: choice("enabled", ["enabled", "disabled"], "Whether Pods are injected that do not say."),
  clusterDomain: text("cluster.local", "DNS domain of the cluster."),
  logLevel: text("warning", "Envoy's log level."),
  componentLogLevel: text("misc:error", "Log levels of Envoy's components."),
  outlierLogPath: text("", "File for outlier detection's events."),
  privileged: flag(false, "Run the proxy as a privileged container."),
  capNetBindService: text("", "true: the proxy may bind ports below 1024."),
  enableCoreDump: flag(false, "Accepted for Istio's sake, without effect."),
  includeIPRanges: text("*", "Destinations that are captured."),
  excludeIPRanges: text("", "Destinations that are not."),
  includeInboundPorts: text("*", "Ports of the application that are captured."),
  excludeInboundPorts: scalar("", "Ports of the application that are not."),
  includeOutboundPorts: scalar("", "Destination ports that are captured whatever their address."),
  excludeOutboundPorts: scalar("", "Destination ports that are not captured."),
  statusPort: scalar(15020, "The agent's port for health and merged metrics; 0: none."),
  readinessInitialDelaySeconds: number(0, "Seconds before the first readiness probe."),
  readinessPeriodSeconds: number(15, "Seconds between readiness probes."),
  readinessFailureThreshold: number(4, "Failed probes that make it unready."),
  startupProbe: group("The probe while it starts.", {
    enabled: flag(true, "Ask every second until the proxy is up."),
    failureThreshold: number(600, "Seconds it may take."),
  }),
  holdApplicationUntilProxyStarts: flag(false, "Start the application after the proxy."),
  resources: map("Requests and limits of the proxy.", {
    limits: { cpu: "2000m", memory: "1024Mi" },
    requests: { cpu: "100m", memory: "128Mi" },
  }),
  lifecycle: map("Hooks of the proxy's container."),
  seccompProfile: map("Seccomp profile of the proxy."),
  tracer: text("none", "Tracer whose settings the proxy is handed."),
});

const global = group("What holds for the control plane and for everything that it injects.", {
  hub: text(fairleadHub, "Registry and path of the images."),
  tag: scalar(fairleadVersion, "Tag of the images."),
  variant: text("", "Variant of the images, such as distroless."),
  imagePullPolicy: text("", "When images are pulled: Always, IfNotPresent or Never."),
  imagePullSecrets: list("Names of Secrets for the registry."),
  istioNamespace: name("istio-system", "", "Namespace of the control plane."),
  priorityClassName: text("", "Priority class of the control plane."),
  platform: text("", "openshift where namespaces have their own users."),
  pilotCertProvider: text("istiod", "Who signs the control plane's own certificate."),
  caAddress: text("", "A certificate authority elsewhere."),
  certSigners: list("Signers of the Kubernetes API that may be asked for certificates (EXTERNAL_CA)."),
  caName: text("", "Which kind of authority that is."),
  meshID: text("", "Name of the mesh in telemetry; the trust domain where it is empty."),
  network: text("", "Network that this cluster's Pods are in."),
  trustBundleName: text("", "ConfigMap with the mesh's roots, instead of istio-ca-root-cert."),
  multiCluster: group("Several clusters in one mesh.", { clusterName: text("", "Name of this cluster.") }),
  mountMtlsCerts: flag(false, "Mount certificates from Secrets into proxies."),
  nativeNftables: flag(false, "Capture with nftables: rules are written by nft, not by iptables."),
  logAsJson: flag(false, "Log lines as JSON."),
  logging: group("Logs.", { level: text("default:info", "Levels by scope: default:info,ads:debug.") }),
  sts: group("Token exchange.", { servicePort: number(0, "Port of the agent's token service; 0: none.") }),
  sds: group("Identity of proxies.", {
    token: group("Their tokens.", { aud: text("istio-ca", "Audience of the tokens.") }),
  }),
  configValidation: flag(true, "Install the validation webhook."),
  defaultPodDisruptionBudget: group("Voluntary disruption.", { enabled: flag(true, "Keep one replica at all times.") }),
  networkPolicy: group("Who may reach the control plane.", {
    enabled: flag(false, "Install a NetworkPolicy that opens its ports only."),
  }),
  istiod: group("The control plane itself.", {
    enableAnalysis: flag(true, "Write what is wrong with an object to its status."),
  }),
  proxy,
  proxy_init: group("The container that sets up capture.", {
    image: text(fairleadImage, "Name of its image below the hub."),
    forceApplyIptables: flag(false, "Replace rules that are there already."),
  }),
});

const sidecarInjectorWebhook = group("Which Pods are injected, and how.", {
  enableNamespacesByDefault: flag(false, "Inject in every namespace that does not say otherwise."),
  rewriteAppHTTPProbe: flag(true, "Lead the kubelet's probes through the agent."),
  reinvocationPolicy: choice("Never", ["Never", "IfNeeded"], "Whether the webhook is called again after others."),
  neverInjectSelector: list("Label selectors of Pods that are not injected."),
  alwaysInjectSelector: list("Label selectors of Pods that are."),
  injectedAnnotations: map("Annotations that injected Pods get."),
  defaultTemplates: list("Templates of Pods that name none; sidecar where it is empty."),
  templates: map("Own templates by name: YAML that is laid over the Pod."),
});

/** The whole tree of values. */
export const valuesSchema: ValueNode = group("Values of Fairlead's chart.", {
  revision: name("", "istiod-", "Name of this control plane where several run side by side."),
  revisionTags: {
    ...list("Further names that select this revision, as `fairlead tag` sets them."),
    nameUpTo: 63 - "istiod-revision-tag-".length,
  },
  defaultRevision: name(
    "default",
    "istiod-",
    "Revision that validates objects without a revision; empty: none of this installation's.",
  ),
  base: group("What all revisions share.", {
    enableIstioConfigCRDs: flag(true, "Install the resource definitions; those that are there are left alone."),
  }),
  meshConfig: map("MeshConfig, laid over the defaults.", {
    defaultProviders: { metrics: ["prometheus"] },
    enablePrometheusMerge: true,
    trustDomain: "cluster.local",
  }),
  meshNetworks: map("Networks of the mesh and their gateways."),
  pilot,
  global,
  sidecarInjectorWebhook,
  gateways: group("Gateways that are injected.", {
    securityContext: map("Security context of their Pods."),
    seccompProfile: map("Seccomp profile of their Pods."),
  }),
  serviceMonitor: group("Scraping by the Prometheus operator.", {
    enabled: flag(false, "Install a ServiceMonitor; needs the operator's resource definitions."),
    interval: text("15s", "How often it scrapes."),
    labels: map("Labels by which a Prometheus finds it."),
  }),
});

export function defaultsOf(node: ValueNode): unknown {
  if (!node.fields) return node.default;
  return Object.fromEntries(Object.entries(node.fields).map(([name, inner]) => [name, defaultsOf(inner)]));
}

/** A label of DNS, or nothing. */
export const namePattern = (upTo: number): string => `^([a-z0-9]([-a-z0-9]{0,${upTo - 2}}[a-z0-9])?)?$`;

/** As JSON schema, which Helm checks values against. */
export function jsonSchemaOf(node: ValueNode): Readonly<Record<string, unknown>> {
  const { type, about, choices, fields, nameUpTo } = node;
  const named = nameUpTo === undefined ? {} : { pattern: namePattern(nameUpTo) };
  return {
    description: about,
    ...(type === "any"
      ? { type: ["string", "integer", "number"] }
      : { type: type === "object" ? ["object", "null"] : type }),
    ...(choices ? { enum: choices } : {}),
    ...(nameUpTo !== undefined && type === "array" ? { items: { type: "string", ...named } } : named),
    ...(fields
      ? {
          additionalProperties: false,
          properties: Object.fromEntries(Object.entries(fields).map(([name, inner]) => [name, jsonSchemaOf(inner)])),
        }
      : {}),
  };
}

/** Sets of values by name, laid under what the user gives. */
export const profiles: ReadonlyMap<string, object> = new Map<string, object>([
  ["default", {}],
  [
    "minimal",
    { pilot: { autoscaleEnabled: false, replicaCount: 1 }, global: { defaultPodDisruptionBudget: { enabled: false } } },
  ],
  [
    "demo",
    {
      pilot: { autoscaleEnabled: false, replicaCount: 1, resources: { requests: { cpu: "10m", memory: "100Mi" } } },
      global: {
        defaultPodDisruptionBudget: { enabled: false },
        proxy: { resources: { requests: { cpu: "10m", memory: "40Mi" } } },
      },
      meshConfig: { accessLogFile: "/dev/stdout" },
    },
  ],
  [
    "stable",
    {
      pilot: { autoscaleMin: 2, resources: { requests: { cpu: "500m", memory: "512Mi" } } },
      global: { networkPolicy: { enabled: true } },
      serviceMonitor: { enabled: false },
    },
  ],
  [
    "openshift",
    { global: { platform: "openshift" }, pilot: { cni: { enabled: true, provider: "multus" }, seccompProfile: {} } },
  ],
]);
