/**
 * A Gateway API Gateway and the settings of the mesh in; the ServiceAccount, Deployment and Service that serve it out, and
 * a HorizontalPodAutoscaler and PodDisruptionBudget where its parameters ask for them. All of it is data: nothing that a
 * user writes in a label, an annotation or a name is ever read as YAML.
 */
import { FairleadError, isRecord, objectLimits, parseYaml, readRecord, readText } from "../lib/index.ts";
import type { KubeObject, ProxyConfigValues } from "../model/index.ts";
import type { InjectSettings } from "./inject-pod.ts";
import { overlay } from "./kube/overlay.ts";
import { kubeType } from "./kube/types.ts";
import type { Fields } from "./pod.ts";
import { kubeGatewayPod } from "./templates/kube-gateway.ts";

type Texts = Readonly<Record<string, string>>;

export interface GatewaySources {
  /** As it is in the API. */
  readonly gateway: KubeObject;
  readonly className: string;
  /** Of the Deployment and the Service. */
  readonly name: string;
  readonly serviceAccount: string;
  readonly listeners: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
  readonly proxyConfig: ProxyConfigValues;
  readonly proxyUser?: number;
  readonly proxyGroup?: number;
  /** What is laid over the objects: the data of ConfigMaps, the class's first. */
  readonly parameters: readonly Fields[];
}

/** Who made it; only what carries this is ever changed. */
export const managedLabel = "gateway.istio.io/managed";
export const managedBy = "istio.io-gateway-controller";
export const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

export function gatewayObjects(sources: GatewaySources, settings: InjectSettings): readonly KubeObject[] {
  const made = [
    part("serviceAccount", serviceAccount(sources)),
    part("deployment", deployment(sources, settings)),
    part("service", service(sources)),
    part("horizontalPodAutoscaler", autoscaler(sources)),
    part("podDisruptionBudget", disruptionBudget(sources)),
  ];
  for (const key of sources.parameters.flatMap(Object.keys))
    if (!made.some((one) => one.key === key))
      throw new FairleadError(
        "invalid",
        `parameters of Gateway ${sources.gateway.metadata.name}: ${key} is not known`,
        {
          hint: `there are ${made.map((one) => one.key).join(", ")}`,
        },
      );
  return made.flatMap(({ key, object }) => {
    const texts = sources.parameters.filter((data) => Object.hasOwn(data, key)).map((data) => readText(data[key]));
    if (texts.length === 0 && onlyWhereAsked.has(key)) return [];
    return [texts.reduce((before, text) => laidOver(before, text, key), object)];
  });
}

const part = (key: string, object: KubeObject): { readonly key: string; readonly object: KubeObject } => ({
  key,
  object,
});
const onlyWhereAsked: ReadonlySet<string> = new Set(["horizontalPodAutoscaler", "podDisruptionBudget"]);

const types: ReadonlyMap<string, string> = new Map([
  ["serviceAccount", "io.k8s.api.core.v1.ServiceAccount"],
  ["deployment", "io.k8s.api.apps.v1.Deployment"],
  ["service", "io.k8s.api.core.v1.Service"],
  ["horizontalPodAutoscaler", "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"],
  ["podDisruptionBudget", "io.k8s.api.policy.v1.PodDisruptionBudget"],
]);

/** What names the object, or says whose it is, is not the parameters' to change. */
function laidOver(object: KubeObject, text: string, key: string): KubeObject {
  const [patch] = parseYaml(text, objectLimits);
  if (!isRecord(patch)) throw new FairleadError("invalid", `parameters: ${key} is not an object`);
  const merged = overlay(kubeType(types.get(key) ?? ""), object, patch);
  const { labels, annotations } = readRecord(merged.metadata);
  const stray = Object.keys(readRecord(patch.metadata)).find((name) => name !== "labels" && name !== "annotations");
  if (stray !== undefined || "apiVersion" in patch || "kind" in patch)
    throw new FairleadError(
      "invalid",
      `parameters: ${key} may not change ${stray ? `metadata.${stray}` : "what it is"}`,
    );
  const metadata = { ...object.metadata, labels: { ...readRecord(labels), [managedLabel]: managedBy }, annotations };
  return { ...object, ...merged, metadata: metadata as KubeObject["metadata"] };
}

const own = "gateway.networking.k8s.io/";
/** Of the Gateway's annotations these say something about it, and not about what runs. */
const notCopied: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  "gateway.istio.io/name-override",
  "gateway.istio.io/service-account",
  "gateway.istio.io/controller-version",
]);

/** What the Gateway's infrastructure says, or, where it says nothing, the Gateway itself. */
function infrastructure({ gateway }: GatewaySources, field: "labels" | "annotations"): Texts {
  const written = readRecord(readRecord(gateway.spec).infrastructure)[field];
  const texts = isRecord(written)
    ? Object.entries(written).filter(([name]) => !name.startsWith(own))
    : Object.entries(gateway.metadata[field] ?? {});
  return Object.fromEntries(
    texts.filter(([name]) => field === "labels" || !notCopied.has(name)).map(([name, text]) => [name, String(text)]),
  );
}

function labelsOf(sources: GatewaySources): Texts {
  return {
    ...infrastructure(sources, "labels"),
    [gatewayNameLabel]: sources.gateway.metadata.name,
    "gateway.networking.k8s.io/gateway-class-name": sources.className,
    [managedLabel]: managedBy,
  };
}

function metadata(sources: GatewaySources, name: string): KubeObject["metadata"] {
  const { name: owner, namespace = "", uid = "" } = sources.gateway.metadata;
  return {
    name,
    namespace,
    labels: labelsOf(sources),
    annotations: infrastructure(sources, "annotations"),
    ownerReferences: [{ apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", name: owner, uid }],
  };
}

const selector = ({ gateway }: GatewaySources): Texts => ({ [gatewayNameLabel]: gateway.metadata.name });

function serviceAccount(sources: GatewaySources): KubeObject {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: metadata(sources, sources.serviceAccount) };
}

function deployment(sources: GatewaySources, settings: InjectSettings): KubeObject {
  const { gateway, name, serviceAccount: serviceAccountName } = sources;
  const namespace = gateway.metadata.namespace ?? "";
  const input = {
    pod: { metadata: { annotations: gateway.metadata.annotations ?? {} } },
    owner: { apiVersion: "apps/v1", kind: "Deployment", name, namespace },
    meshConfig: settings.meshConfig,
    proxyConfig: sources.proxyConfig,
    values: settings.values,
    rawValues: settings.rawValues,
    revision: settings.revision,
    nativeSidecars: false,
    proxyUser: sources.proxyUser ?? defaultUser,
    proxyGroup: sources.proxyGroup ?? defaultUser,
    compliancePolicy: settings.compliancePolicy,
  };
  const labels = {
    "sidecar.istio.io/inject": "false",
    "service.istio.io/canonical-name": name,
    "service.istio.io/canonical-revision": "latest",
    ...labelsOf(sources),
  };
  const annotations = {
    ...infrastructure(sources, "annotations"),
    "istio.io/rev": settings.revision || "default",
    "prometheus.io/path": "/stats/prometheus",
    "prometheus.io/port": "15020",
    "prometheus.io/scrape": "true",
  };
  const network = infrastructure(sources, "labels")["topology.istio.io/network"] ?? "";
  const spec = { serviceAccountName, ...kubeGatewayPod(input, network) };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: metadata(sources, name),
    spec: { selector: { matchLabels: selector(sources) }, template: { metadata: { annotations, labels }, spec } },
  };
}

const defaultUser = 1337;

function service(sources: GatewaySources): KubeObject {
  const { gateway } = sources;
  const type = gateway.metadata.annotations?.["networking.istio.io/service-type"] ?? "LoadBalancer";
  const [address] = addresses(gateway);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata(sources, sources.name),
    spec: {
      ipFamilyPolicy: "PreferDualStack",
      ports: ports(sources),
      selector: selector(sources),
      ...(address !== undefined && type === "LoadBalancer" ? { loadBalancerIP: address } : {}),
      type,
    },
  };
}

function addresses({ spec }: KubeObject): readonly string[] {
  const list = readRecord(spec).addresses;
  return (Array.isArray(list) ? list : []).map((address) => readText(readRecord(address).value));
}

/** One for each port; a Service's names are shorter than a listener's, and have no dots. */
function ports({ listeners }: GatewaySources): readonly Fields[] {
  const used = new Set(["status-port"]);
  const first = new Map(listeners.toReversed().map((listener) => [listener.port, listener]));
  const named = listeners
    .filter((listener) => first.get(listener.port) === listener)
    .map(({ name, port, protocol }, i) => {
      const appProtocol = protocol.toLowerCase();
      return { name: uniqueName(name.replaceAll(".", "-") || `${appProtocol}-${i}`, port, used), port, appProtocol };
    });
  return [{ name: "status-port", port: 15021, appProtocol: "tcp" }, ...named].map(({ name, port, appProtocol }) => ({
    name,
    port,
    protocol: "TCP",
    appProtocol,
  }));
}

const maxName = 63;

function uniqueName(name: string, port: number, used: Set<string>): string {
  let candidate = name.slice(0, maxName);
  for (let suffix = `-${port}`; used.has(candidate); suffix += "x")
    candidate = `${name.slice(0, maxName - suffix.length)}${suffix}`;
  used.add(candidate);
  return candidate;
}

function autoscaler(sources: GatewaySources): KubeObject {
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: metadata(sources, sources.name),
    spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: sources.name }, maxReplicas: 1 },
  };
}

function disruptionBudget(sources: GatewaySources): KubeObject {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: metadata(sources, sources.name),
    spec: { selector: { matchLabels: selector(sources) } },
  };
}
