/** A Kubernetes Service in, the mesh's Service out. */
import { readList, readNumber, readRecord, readText, readTextMap, readTexts } from "../lib/index.ts";
import {
  formatIdentity,
  type KubeObject,
  objectName,
  type Resolution,
  type Service,
  type ServicePort,
  serviceKey,
  servicePortProtocol,
} from "../model/index.ts";

export interface ServiceContext {
  readonly domain: string;
  readonly trustDomain: string;
  /** Annotations of the Service's namespace: the third place where traffic distribution may be asked for. */
  readonly namespaceAnnotations: Readonly<Record<string, string>>;
}

export function kubeService(object: KubeObject, context: ServiceContext): Service {
  const { name, namespace = "default" } = object.metadata;
  const spec = readRecord(object.spec);
  const annotations = object.metadata.annotations ?? {};
  const host = kubeHost(name, namespace, context.domain);
  const externalName = readText(spec.type) === "ExternalName" ? readText(spec.externalName) : "";
  const headless = readText(spec.clusterIP) === "None";
  const selector = readTextMap(spec.selector);
  return {
    key: serviceKey(namespace, host),
    host,
    namespace,
    name,
    registry: "Kubernetes",
    object: objectName("Service", { name, namespace }),
    creationTimestamp: object.metadata.creationTimestamp ?? "",
    ports: readList(spec.ports).map(servicePort),
    resolution: resolutionOf(headless, externalName),
    meshExternal: externalName !== "",
    addresses: headless ? [] : clusterAddresses(spec),
    autoAddresses: [],
    headless,
    exportTo: exportToOf(annotations["networking.istio.io/exportTo"]),
    labels: object.metadata.labels ?? {},
    selector: Object.keys(selector).length > 0 ? selector : undefined,
    serviceAccounts: declaredAccounts(annotations, namespace, context.trustDomain),
    ...(externalName === "" ? {} : { externalName }),
    ...(readText(spec.type) === "" ? {} : { type: readText(spec.type) }),
    nodeLocal: readText(spec.internalTrafficPolicy) === "Local",
    trafficDistribution: distributionOf(readText(spec.trafficDistribution), annotations, context.namespaceAnnotations),
    publishNotReady: spec.publishNotReadyAddresses === true,
    annotations,
    externalAddresses: externalAddresses(spec, readRecord(object.status)),
  };
}

export function kubeHost(name: string, namespace: string, domain: string): string {
  return `${name}.${namespace}.svc.${domain}`;
}

// Headless wins over ExternalName: istiod looks at clusterIP last.
function resolutionOf(headless: boolean, externalName: string): Resolution {
  if (headless) return "passthrough";
  return externalName === "" ? "static" : "alias";
}

function servicePort(value: unknown): ServicePort {
  const port = readRecord(value);
  const number = readNumber(port.port) ?? 0;
  const name = readText(port.name);
  const appProtocol = port.appProtocol;
  const targetPort = readNumber(port.targetPort);
  return {
    name,
    port: number,
    protocol: servicePortProtocol(
      number,
      name,
      readText(port.protocol),
      typeof appProtocol === "string" ? appProtocol : undefined,
    ),
    ...(targetPort === undefined ? {} : { targetPort }),
  };
}

function clusterAddresses(spec: Readonly<Record<string, unknown>>): readonly string[] {
  const first = readText(spec.clusterIP);
  if (first === "") return [];
  const all = readTexts(spec.clusterIPs);
  return all.length > 1 ? all : [first];
}

function exportToOf(annotation: string | undefined): readonly string[] | undefined {
  if (annotation === undefined || annotation === "") return undefined;
  return annotation.split(",").map((part) => part.trim());
}

function declaredAccounts(
  annotations: Readonly<Record<string, string>>,
  namespace: string,
  trustDomain: string,
): readonly string[] {
  const split = (text: string | undefined): readonly string[] => (text ? text.split(",") : []);
  return [
    ...split(annotations["alpha.istio.io/canonical-serviceaccounts"]),
    ...split(annotations["alpha.istio.io/kubernetes-serviceaccounts"]).map((serviceAccount) =>
      formatIdentity({ trustDomain, namespace, serviceAccount }),
    ),
  ];
}

type Distribution = Service["trafficDistribution"];

const distributions: ReadonlyMap<string, Distribution> = new Map([
  ["prefersamezone", "prefer-same-zone"],
  ["preferclose", "prefer-same-zone"],
  ["prefersamenode", "prefer-same-node"],
]);

const distributionAnnotation = "networking.istio.io/traffic-distribution";

/** The spec's field (exact words), then the Service's annotation, then its namespace's; an unknown annotation means "any". */
export function distributionOf(
  field: string,
  annotations: Readonly<Record<string, string>>,
  namespaceAnnotations: Readonly<Record<string, string>>,
): Distribution {
  if (field === "PreferSameZone" || field === "PreferClose") return "prefer-same-zone";
  if (field === "PreferSameNode") return "prefer-same-node";
  const annotation = annotations[distributionAnnotation] || namespaceAnnotations[distributionAnnotation];
  return annotation ? (distributions.get(annotation.toLowerCase()) ?? "any") : "";
}

function externalAddresses(
  spec: Readonly<Record<string, unknown>>,
  status: Readonly<Record<string, unknown>>,
): readonly string[] {
  const balancer = readText(spec.type) === "LoadBalancer" ? readList(readRecord(status.loadBalancer).ingress) : [];
  const given = balancer.map((item) => readText(readRecord(item).ip) || readText(readRecord(item).hostname));
  return [...given.filter((address) => address !== ""), ...readTexts(spec.externalIPs)];
}
