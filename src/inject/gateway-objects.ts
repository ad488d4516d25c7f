/**
 * A Gateway of the Gateway API and the injector's settings in; the objects that run it out: ServiceAccount, Deployment,
 * Service, and, where the user's parameters ask for them, an autoscaler and a disruption budget. All of it is data:
 * whatever stands in a name, label or annotation stays a value (CVE-2022-21701).
 */
import {
  FairleadError,
  isRecord,
  objectLimits,
  parseYaml,
  readList,
  readNumber,
  readRecord,
  readText,
  readTextMap,
} from "../lib/index.ts";
import type { KubeObject, ProxyConfigValues } from "../model/index.ts";
import { proxyImage } from "./image.ts";
import type { InjectSettings } from "./inject-pod.ts";
import { overlay } from "./kube/overlay.ts";
import { kubeType } from "./kube/types.ts";
import type { Fields } from "./pod.ts";
import { annotation, optional, type TemplateInput } from "./templates/input.ts";
import {
  clusterEnv,
  configEnv,
  cpuLimit,
  identityEnv,
  memoryLimit,
  meshEnv,
  metadataEnv,
  nodeName,
  ownerEnv,
  value,
} from "./templates/proxy-env.ts";
import {
  dataVolumes,
  issuedByControlPlane,
  mount,
  pullPolicy,
  pullSecrets,
  tokenVolumes,
  workloadCertsMount,
  workloadCertsVolume,
} from "./templates/shared.ts";

type Texts = Readonly<Record<string, string>>;

export interface GatewayDeployment {
  readonly gateway: KubeObject;
  /** Listeners of ListenerSets that are attached to it, beside its own. */
  readonly moreListeners: readonly unknown[];
  readonly settings: InjectSettings;
  readonly proxyConfig: ProxyConfigValues;
  /** Data of ConfigMaps that lay more over the objects: the class's, then the Gateway's own. */
  readonly parameters: readonly Texts[];
  readonly proxyUser: number;
  readonly proxyGroup: number;
}

const nameLabel = "gateway.networking.k8s.io/gateway-name";
const classLabel = "gateway.networking.k8s.io/gateway-class-name";
/** Who may write the object: one that is there without it is somebody else's. */
export const managedLabel = "gateway.istio.io/managed";
export const managedBy = "istio.io-gateway-controller";

/** For us, not for what is made. */
const ownAnnotations: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  "gateway.istio.io/name-override",
  "gateway.istio.io/service-account",
  "gateway.istio.io/controller-version",
]);

export function gatewayObjects(asked: GatewayDeployment): readonly KubeObject[] {
  const names = namesOf(asked.gateway);
  const plain = [
    serviceAccount(asked, names),
    deployment(asked, names),
    service(asked, names),
    autoscaler(asked, names),
    disruptionBudget(asked, names),
  ];
  return plain.flatMap((object) => {
    const key = parameterOf(object.kind);
    const own = asked.parameters.flatMap((data) => data[key] ?? []);
    // Made only where they are asked for.
    if (own.length === 0 && optionalKinds.has(object.kind)) return [];
    return [own.reduce<KubeObject>((before, text) => laidOver(before, key, text), object)];
  });
}

interface Names {
  readonly name: string;
  readonly className: string;
  readonly namespace: string;
  readonly workload: string;
  readonly account: string;
}

function namesOf({ metadata, spec }: KubeObject): Names {
  const className = readText(readRecord(spec).gatewayClassName);
  const fallback = `${metadata.name}-${className}`;
  return {
    name: metadata.name,
    className,
    namespace: metadata.namespace ?? "default",
    workload: metadata.annotations?.["gateway.istio.io/name-override"] || fallback,
    account: metadata.annotations?.["gateway.istio.io/service-account"] || fallback,
  };
}

/** What the Gateway says of its infrastructure, else its own labels or annotations. */
function infrastructure({ metadata, spec }: KubeObject, field: "labels" | "annotations"): Texts {
  const said = readRecord(readRecord(spec).infrastructure)[field];
  const all = said === undefined ? (metadata[field] ?? {}) : readTextMap(said);
  return Object.fromEntries(
    Object.entries(all).filter(([key]) => !key.startsWith("gateway.networking.k8s.io/") && !ownAnnotations.has(key)),
  );
}

function metadataOf({ gateway }: GatewayDeployment, names: Names, name: string): KubeObject["metadata"] {
  const { uid } = gateway.metadata;
  return {
    name,
    namespace: names.namespace,
    annotations: infrastructure(gateway, "annotations"),
    labels: labelsOf(gateway, names),
    ownerReferences: [
      { apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", name: names.name, uid: uid ?? "" },
    ],
  };
}

function labelsOf(gateway: KubeObject, { name, className }: Names): Texts {
  return {
    ...infrastructure(gateway, "labels"),
    [nameLabel]: name,
    [classLabel]: className,
    [managedLabel]: managedBy,
  };
}

const serviceAccount = (asked: GatewayDeployment, names: Names): KubeObject => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: metadataOf(asked, names, names.account),
});

function service(asked: GatewayDeployment, names: Names): KubeObject {
  const { metadata, spec } = asked.gateway;
  const type = metadata.annotations?.["networking.istio.io/service-type"] || "LoadBalancer";
  const [address] = readList(readRecord(spec).addresses).map(readRecord);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadataOf(asked, names, names.workload),
    spec: {
      ipFamilyPolicy: "PreferDualStack",
      ports: servicePorts([...readList(readRecord(spec).listeners), ...asked.moreListeners]),
      selector: { [nameLabel]: names.name },
      ...optional("loadBalancerIP", type === "LoadBalancer" && address ? readText(address.value) : ""),
      type,
    },
  };
}

interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: "TCP";
  readonly appProtocol: string;
}

/** One for each number; of listeners that share one the first names it. */
function servicePorts(listeners: readonly unknown[]): readonly ServicePort[] {
  const ports = new Map<number, ServicePort>();
  const used = new Set(["status-port"]);
  for (const [i, listener] of listeners.map(readRecord).entries()) {
    const port = readNumber(listener.port) ?? 0;
    if (port === 0 || ports.has(port)) continue;
    const appProtocol = readText(listener.protocol).toLowerCase();
    const name = portName(readText(listener.name) || `${appProtocol}-${i}`, port, used);
    ports.set(port, { name, port, protocol: "TCP", appProtocol });
  }
  return [{ name: "status-port", port: 15021, protocol: "TCP", appProtocol: "tcp" }, ...ports.values()];
}

/** Names of ports are shorter and simpler than those of listeners, and each is there once. */
function portName(listener: string, port: number, used: Set<string>): string {
  const base = listener.replaceAll(".", "-").slice(0, 63);
  let name = base;
  for (let suffix = `-${port}`; used.has(name); suffix += "x") name = `${base.slice(0, 63 - suffix.length)}${suffix}`;
  used.add(name);
  return name;
}

function deployment(asked: GatewayDeployment, names: Names): KubeObject {
  const { settings, gateway } = asked;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: metadataOf(asked, names, names.workload),
    spec: {
      selector: { matchLabels: { [nameLabel]: names.name } },
      template: {
        metadata: {
          annotations: {
            ...infrastructure(gateway, "annotations"),
            "istio.io/rev": settings.revision || "default",
            "prometheus.io/path": "/stats/prometheus",
            "prometheus.io/port": "15020",
            "prometheus.io/scrape": "true",
          },
          labels: {
            "sidecar.istio.io/inject": "false",
            "service.istio.io/canonical-name": names.workload,
            "service.istio.io/canonical-revision": "latest",
            ...labelsOf(gateway, names),
          },
        },
        spec: podSpec(asked, names),
      },
    },
  };
}

function podSpec(asked: GatewayDeployment, names: Names): Fields {
  const input = templateInput(asked, names);
  return {
    securityContext: asked.settings.values.gatewaySecurityContext ?? {
      // Ports below 1024 without a capability.
      sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "0" }],
    },
    serviceAccountName: names.account,
    containers: [container(asked, input)],
    volumes: [
      { name: "workload-socket", emptyDir: {} },
      { name: "credential-socket", emptyDir: {} },
      workloadCertsVolume(input, {}),
      { name: "istio-envoy", emptyDir: { medium: "Memory" } },
      ...dataVolumes,
      ...tokenVolumes(input),
    ],
    ...pullSecrets(input),
  };
}

/** The Gateway stands for the Pod's metadata: its annotations say what a Pod's would. */
function templateInput({ gateway, settings, proxyConfig, ...asked }: GatewayDeployment, names: Names): TemplateInput {
  return {
    pod: { metadata: { annotations: gateway.metadata.annotations ?? {} }, spec: {} },
    owner: { apiVersion: "apps/v1", kind: "Deployment", name: names.workload, namespace: names.namespace },
    meshConfig: settings.meshConfig,
    proxyConfig,
    values: settings.values,
    rawValues: settings.rawValues,
    revision: settings.revision,
    nativeSidecars: false,
    proxyUser: asked.proxyUser,
    proxyGroup: asked.proxyGroup,
    compliancePolicy: settings.compliancePolicy,
  };
}

function container(asked: GatewayDeployment, input: TemplateInput): Fields {
  const { values } = input;
  const probe = { path: "/healthz/ready", port: 15021, scheme: "HTTP" };
  return {
    name: "istio-proxy",
    image: proxyImage(values, input.proxyConfig, asked.gateway.metadata.annotations ?? {}),
    ...optional("resources", values.proxy.resources),
    ...pullPolicy(input),
    securityContext: {
      capabilities: { drop: ["ALL"] },
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsUser: asked.proxyUser,
      runAsGroup: asked.proxyGroup,
      runAsNonRoot: true,
    },
    ports: [
      { containerPort: 15020, name: "metrics", protocol: "TCP" },
      { containerPort: 15021, name: "status-port", protocol: "TCP" },
      { containerPort: 15090, name: "http-envoy-prom", protocol: "TCP" },
    ],
    args: args(input),
    ...optional("lifecycle", values.proxy.lifecycle),
    env: env(asked, input),
    startupProbe: probeOf(probe, { failureThreshold: 30, initialDelaySeconds: 1, periodSeconds: 1 }),
    readinessProbe: probeOf(probe, { failureThreshold: 4, initialDelaySeconds: 0, periodSeconds: 15 }),
    volumeMounts: [
      mount("workload-socket", "/var/run/secrets/workload-spiffe-uds"),
      mount("credential-socket", "/var/run/secrets/credential-uds"),
      workloadCertsMount(input),
      ...(issuedByControlPlane(input) ? [mount("istiod-ca-cert", "/var/run/secrets/istio")] : []),
      mount("istio-data", "/var/lib/istio/data"),
      mount("istio-envoy", "/etc/istio/proxy"),
      mount("istio-token", "/var/run/secrets/tokens"),
      mount("istio-podinfo", "/etc/istio/pod"),
    ],
  };
}

const probeOf = (httpGet: Fields, times: Fields): Fields => ({
  httpGet,
  ...times,
  successThreshold: 1,
  timeoutSeconds: 1,
});

function args(input: TemplateInput): readonly string[] {
  const { values } = input;
  const { proxy } = values;
  return [
    "proxy",
    "router",
    "--domain",
    `$(POD_NAMESPACE).svc.${proxy.clusterDomain}`,
    "--proxyLogLevel",
    annotation(input, "sidecar.istio.io/logLevel", proxy.logLevel),
    "--proxyComponentLogLevel",
    annotation(input, "sidecar.istio.io/componentLogLevel", proxy.componentLogLevel),
    "--log_output_level",
    annotation(input, "sidecar.istio.io/agentLogLevel", values.logLevel),
    ...(values.logAsJson ? ["--log_as_json"] : []),
  ];
}

function env({ gateway }: GatewayDeployment, input: TemplateInput): readonly Fields[] {
  const network = infrastructure(gateway, "labels")["topology.istio.io/network"] ?? "";
  return [
    ...identityEnv(input),
    cpuLimit,
    ...configEnv(input),
    value("ISTIO_META_APP_CONTAINERS", ""),
    memoryLimit,
    clusterEnv(input),
    nodeName,
    value("ISTIO_META_INTERCEPTION_MODE", input.proxyConfig.interceptionMode ?? "REDIRECT"),
    ...(network || input.values.network ? [value("ISTIO_META_NETWORK", network || input.values.network)] : []),
    ...ownerEnv(input),
    ...meshEnv(input),
    ...metadataEnv(input),
    ...(network ? [value("ISTIO_META_REQUESTED_NETWORK_VIEW", network)] : []),
  ];
}

const autoscaler = (asked: GatewayDeployment, names: Names): KubeObject => ({
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: metadataOf(asked, names, names.workload),
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: names.workload },
    maxReplicas: 1,
  },
});

const disruptionBudget = (asked: GatewayDeployment, names: Names): KubeObject => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: metadataOf(asked, names, names.workload),
  spec: { selector: { matchLabels: { [nameLabel]: names.name } } },
});

const optionalKinds: ReadonlySet<string> = new Set(["HorizontalPodAutoscaler", "PodDisruptionBudget"]);

/** Under which key of a ConfigMap users write what is laid over a kind. */
const parameterOf = (kind: string): string => `${kind.slice(0, 1).toLowerCase()}${kind.slice(1)}`;

const parameterKeys: ReadonlySet<string> = new Set(
  ["ServiceAccount", "Deployment", "Service", ...optionalKinds].map(parameterOf),
);

const typeNames: ReadonlyMap<string, string> = new Map([
  ["Deployment", "io.k8s.api.apps.v1.Deployment"],
  ["Service", "io.k8s.api.core.v1.Service"],
  ["ServiceAccount", "io.k8s.api.core.v1.ServiceAccount"],
  ["HorizontalPodAutoscaler", "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"],
  ["PodDisruptionBudget", "io.k8s.api.policy.v1.PodDisruptionBudget"],
]);

/** What identifies the object and its owner is not the user's to change here. */
const fixed = ["name", "namespace", "uid", "ownerReferences", "finalizers", "managedFields", "resourceVersion"];

function laidOver(object: KubeObject, key: string, text: string): KubeObject {
  const [patch] = parseYaml(text, objectLimits);
  if (!isRecord(patch)) throw new FairleadError("invalid", `parameter ${key} is not an object`);
  const changed = Object.keys(readRecord(patch.metadata)).filter((field) => fixed.includes(field));
  if (changed.length > 0 || (patch.kind !== undefined && patch.kind !== object.kind))
    throw new FairleadError(
      "invalid",
      `parameter ${key} changes ${changed[0] ? `metadata.${changed[0]}` : "the kind"}`,
    );
  return overlay(kubeType(typeNames.get(object.kind) ?? ""), object, patch) as KubeObject;
}

/** Why the parameters cannot be used; undefined where they can. */
export function parameterError(data: Texts): string | undefined {
  const unknown = Object.keys(data).find((key) => !parameterKeys.has(key));
  return unknown === undefined
    ? undefined
    : `unknown parameter ${JSON.stringify(unknown)}: known are ${[...parameterKeys].sort().join(", ")}`;
}
