/** The text of a ztunnel's config dump in; its workloads, services, policies, certificates and connections out. */
import { FairleadError, fileLimits, isRecord, parseJson } from "../../lib/index.ts";
import { describeForJson } from "../proxy-config/dump-json.ts";
import { flag, list, map, number, object, optional, type Shape, text, unlessEmpty } from "./shape.ts";

const gatewayAddress = object({ destination: text });

const workload = object({
  uid: text,
  workloadIps: list(text),
  waypoint: optional(gatewayAddress),
  networkGateway: optional(gatewayAddress),
  protocol: text,
  name: text,
  namespace: text,
  serviceAccount: text,
  workloadName: text,
  workloadType: text,
  canonicalName: text,
  canonicalRevision: text,
  clusterId: text,
  trustDomain: unlessEmpty(text),
  locality: object({ region: unlessEmpty(text), zone: unlessEmpty(text), subzone: unlessEmpty(text) }),
  node: text,
  network: unlessEmpty(text),
  status: text,
  hostname: text,
  capacity: number,
  applicationTunnel: object({ protocol: text, port: optional(number) }),
  authorizationPolicies: unlessEmpty(list(text)),
});

/** Written as one text, `network/range`, whichever way it came. */
const addressRange: Shape<string> = (value) =>
  isRecord(value) ? `${text(value.network)}/${text(value.cidr)}` : text(value);

const service = object({
  name: text,
  namespace: text,
  hostname: text,
  vips: list(text),
  cidrVips: unlessEmpty(list(addressRange)),
  ports: map(number),
  loadBalancer: optional(object({ mode: text, routingPreferences: list(text), healthPolicy: text })),
  waypoint: optional(gatewayAddress),
  endpoints: map(object({ workloadUid: text, service: text, address: unlessEmpty(text), port: map(number) })),
  subjectAltNames: unlessEmpty(list(text)),
  ipFamilies: text,
  canonical: unlessEmpty(flag),
  visibility: unlessEmpty(text),
});

const names = unlessEmpty(
  list(
    object({
      Exact: unlessEmpty(text),
      Suffix: unlessEmpty(text),
      Prefix: unlessEmpty(text),
      Presence: optional((value) => value),
    }),
  ),
);
const addresses = unlessEmpty(list(text));
const ports = unlessEmpty(list(number));
const accounts = unlessEmpty(list(object({ namespace: text, serviceAccount: text })));

const policy = object({
  name: text,
  namespace: text,
  scope: text,
  action: text,
  rules: list(
    list(
      list(
        object({
          namespaces: names,
          notNamespaces: names,
          principals: names,
          notPrincipals: names,
          sourceIps: addresses,
          notSourceIps: addresses,
          destinationIps: addresses,
          notDestinationIps: addresses,
          destinationPorts: ports,
          notDestinationPorts: ports,
          serviceAccounts: accounts,
          notServiceAccounts: accounts,
        }),
      ),
    ),
  ),
});

const certificate = object({ pem: text, serialNumber: text, validFrom: text, expirationTime: text });

const identity = object({
  identity: text,
  state: text,
  certChain: list(certificate),
  rootCerts: list(certificate),
});

const connection = object({ src: text, originalDst: text, actualDst: text, protocol: text });

const workloadState = object({
  state: unlessEmpty(text),
  connections: object({ inbound: list(connection), outbound: list(connection) }),
  info: object({ name: text, namespace: text, trustDomain: text, serviceAccount: text }),
});

export type Workload = ReturnType<typeof workload>;
export type Service = ReturnType<typeof service>;
export type Policy = ReturnType<typeof policy>;
export type Certificate = ReturnType<typeof certificate>;
export type Identity = ReturnType<typeof identity>;
export type WorkloadState = ReturnType<typeof workloadState>;

export interface ZtunnelDump {
  readonly workloads: readonly Workload[];
  readonly services: readonly Service[];
  readonly policies: readonly Policy[];
  readonly certificates: readonly Identity[];
  readonly workloadState: readonly WorkloadState[];
}

const prefix = "error unmarshalling config dump response from ztunnel: ";

export function parseZtunnelDump(dumpText: string): ZtunnelDump {
  const json = readJson(dumpText);
  if (!isRecord(json))
    throw new FairleadError(
      "invalid",
      `${prefix}json: cannot unmarshal ${kindOf(json)} into Go value of type configdump.rawDump`,
    );
  return {
    workloads: members(json.workloads).map(workload),
    services: members(json.services).map(service),
    policies: members(json.policies).map(policy),
    certificates: members(json.certificates).map(identity),
    workloadState: members(json.workloadState).map(workloadState),
  };
}

function readJson(dumpText: string): unknown {
  try {
    return parseJson(dumpText, fileLimits);
  } catch (cause) {
    if (!(cause instanceof FairleadError) || !(cause.cause instanceof SyntaxError)) throw cause;
    throw new FairleadError("invalid", `${prefix}${describeForJson(dumpText)}`, { cause });
  }
}

function kindOf(json: unknown): string {
  if (Array.isArray(json)) return "array";
  return typeof json === "boolean" ? "bool" : typeof json;
}

/** Older ztunnels write maps where newer ones write lists. */
function members(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isRecord(value) ? Object.values(value) : [];
}

/** Addresses are written `network/address`. */
export function addressOf(vip: string): string {
  return vip.includes("/") ? vip.slice(vip.indexOf("/") + 1) : "";
}
