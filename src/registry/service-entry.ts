/** A ServiceEntry in, one service per host of it out. */
import { formatIp, parseIp, parsePrefix, readList, readRecord, readText } from "../lib/index.ts";
import {
  type Config,
  objectName,
  parseProtocol,
  type Resolution,
  type Service,
  type ServiceEntrySpec,
  serviceKey,
} from "../model/index.ts";
import { distributionOf } from "./kube-service.ts";

export type ServiceEntry = Config<ServiceEntrySpec>;

export interface ServiceEntryContext {
  /** `status` of the object: where addresses are noted that were allocated for it. */
  readonly status: unknown;
  readonly namespaceAnnotations: Readonly<Record<string, string>>;
}

const resolutions: ReadonlyMap<string, Resolution> = new Map([
  ["NONE", "passthrough"],
  ["STATIC", "static"],
  ["DNS", "dns"],
  ["DNS_ROUND_ROBIN", "dns-round-robin"],
  ["DYNAMIC_DNS", "dynamic-dns"],
]);

export function serviceEntryServices(config: ServiceEntry, context: ServiceEntryContext): readonly Service[] {
  const { spec, meta } = config;
  const annotations = meta.annotations ?? {};
  const common = {
    namespace: meta.namespace,
    registry: "External" as const,
    object: objectName("ServiceEntry", meta),
    creationTimestamp: meta.creationTimestamp ?? "",
    ports: portsOf(spec),
    resolution: resolutions.get(spec.resolution ?? "NONE") ?? "passthrough",
    meshExternal: spec.location !== "MESH_INTERNAL",
    addresses: (spec.addresses ?? []).flatMap((address) => vipOf(address) ?? []),
    headless: false,
    exportTo: spec.exportTo?.length ? spec.exportTo : undefined,
    labels: meta.labels ?? {},
    selector: spec.workloadSelector ? (spec.workloadSelector.labels ?? {}) : undefined,
    serviceAccounts: spec.subjectAltNames ?? [],
    nodeLocal: false,
    trafficDistribution: distributionOf("", annotations, context.namespaceAnnotations),
    publishNotReady: false,
    annotations,
    externalAddresses: [],
  };
  return [...new Set(spec.hosts ?? [])].map((host) => ({
    ...common,
    key: serviceKey(meta.namespace, host),
    host,
    name: host,
    autoAddresses: allocatedAddresses(config, host, context.status),
  }));
}

function portsOf(spec: ServiceEntrySpec): Service["ports"] {
  return (spec.ports ?? [])
    .filter(({ number = 0 }) => isPort(number))
    .map(({ name = "", number = 0, protocol = "", targetPort = 0 }) => ({
      name,
      port: number,
      protocol: parseProtocol(protocol),
      ...(isPort(targetPort) ? { targetPort } : {}),
    }));
}

/** Others would make listeners and clusters that Envoy refuses. */
const isPort = (number: number): boolean => number >= 1 && number <= 65535;

/** An address, or a range in CIDR notation; a range of one is that address. Anything else is left out. */
function vipOf(text: string): string | undefined {
  if (parseIp(text)) return text;
  const prefix = parsePrefix(text);
  if ("error" in prefix) return undefined;
  return prefix.bits === prefix.address.length * 8 ? formatIp(prefix.address) : text;
}

/** Only where the owner gave none, resolution lets a proxy honour them, and the label does not opt out. */
function allocatedAddresses({ spec, meta }: ServiceEntry, host: string, status: unknown): readonly string[] {
  const isOff = meta.labels?.["networking.istio.io/enable-autoallocate-ip"]?.toLowerCase() === "false";
  if (isOff || spec.addresses?.length || (spec.resolution ?? "NONE") === "NONE") return [];
  return readList(readRecord(status).addresses)
    .map(readRecord)
    .filter((entry) => entry.host === host)
    .map((entry) => readText(entry.value))
    .filter((value) => parseIp(value) !== undefined);
}
