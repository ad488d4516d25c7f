/** A ztunnel's dump and filters in; istioctl's tables, or the data, out. */
import { sortBy } from "../../lib/index.ts";
import { printTabs } from "../table.ts";
import { connectionRows } from "./connections.ts";
import { addressOf, type Certificate, type Identity, type Service, type Workload, type ZtunnelDump } from "./dump.ts";

export interface ZtunnelFlags {
  readonly output?: string;
  readonly file?: string;
  readonly address?: string;
  readonly workloadNamespace?: string;
  readonly workloadNode?: string;
  readonly serviceNamespace?: string;
  readonly policyNamespace?: string;
  readonly direction?: string;
  readonly raw?: boolean;
  readonly withHeaders?: boolean;
}

export interface ZtunnelView {
  readonly short: () => string;
  readonly data: () => unknown;
}

type MakeView = (dump: ZtunnelDump, flags: ZtunnelFlags, now: Date) => ZtunnelView;

/** Without regard to case; any where nothing is wanted. */
function same(own: string, wanted: string | undefined): boolean {
  return !wanted || own.toLowerCase() === wanted.toLowerCase();
}

export const viewWorkloads: MakeView = (dump, flags) => {
  const found = dump.workloads.filter(
    (workload) =>
      same(workload.namespace, flags.workloadNamespace) &&
      same(workload.node, flags.workloadNode) &&
      (!flags.address || (workload.workloadIps ?? []).some((ip) => same(ip, flags.address))),
  );
  const row = (workload: Workload): readonly string[] => [
    workload.namespace,
    workload.name,
    (workload.workloadIps ?? []).join(",") || workload.hostname,
    workload.node,
    waypointName(workload.waypoint, dump.services),
    workload.protocol,
  ];
  return {
    short: () => {
      const sorted = sortBy(
        found,
        (workload) => `${workload.namespace}.${workload.name}`,
        (workload) => workload.node,
      );
      return printTabs([["NAMESPACE", "POD NAME", "ADDRESS", "NODE", "WAYPOINT", "PROTOCOL"], ...sorted.map(row)], 1);
    },
    data: () => found,
  };
};

export const viewServices: MakeView = (dump, flags) => {
  const found = sortBy(
    dump.services.filter((service) => same(service.namespace, flags.serviceNamespace)),
    (service) => service.namespace,
    (service) => service.name,
    (service) => service.hostname,
  );
  const healthy = new Set(dump.workloads.filter(({ status }) => status === "Healthy").map(({ uid }) => uid));
  const row = (service: Service): readonly string[] => {
    const endpoints = Object.values(service.endpoints ?? {});
    return [
      service.namespace,
      service.name,
      (service.vips ?? []).map(addressOf).join(","),
      waypointName(service.waypoint, dump.services),
      `${endpoints.filter(({ workloadUid }) => healthy.has(workloadUid)).length}/${endpoints.length}`,
    ];
  };
  const header = ["NAMESPACE", "SERVICE NAME", "SERVICE VIP", "WAYPOINT", "ENDPOINTS"];
  return { short: () => printTabs([header, ...found.map(row)], 1), data: () => found };
};

export const viewPolicies: MakeView = (dump, flags) => {
  const found = sortBy(
    dump.policies.filter((policy) => same(policy.namespace, flags.policyNamespace)),
    (policy) => policy.namespace,
    (policy) => policy.name,
  );
  const rows = found.map((policy) => [policy.namespace, policy.name, policy.action, policy.scope]);
  return { short: () => printTabs([["NAMESPACE", "POLICY NAME", "ACTION", "SCOPE"], ...rows], 1), data: () => found };
};

export const viewCertificates: MakeView = (dump, _flags, now) => ({
  short: () => {
    const header = ["CERTIFICATE NAME", "TYPE", "STATUS", "VALID CERT", "SERIAL NUMBER", "NOT AFTER", "NOT BEFORE"];
    return printTabs([header, ...dump.certificates.flatMap((identity) => certificateRows(identity, now))], 5);
  },
  data: () => dump.certificates,
});

function certificateRows(identity: Identity, now: Date): readonly (readonly string[])[] {
  const state = identity.state.includes("Unavailable") ? "Unavailable" : identity.state;
  const chain = identity.certChain ?? [];
  const roots = identity.rootCerts ?? [];
  if (chain.length === 0) return [[identity.identity, "NA", state, "false", "NA", "NA", "NA"]];
  const row = (type: string, certificate: Certificate): readonly string[] => [
    identity.identity,
    type,
    state,
    String(isValid(certificate, now)),
    /^\d+$/.test(certificate.serialNumber) ? BigInt(certificate.serialNumber).toString(16) : "<nil>",
    certificate.expirationTime || "NA",
    certificate.validFrom || "NA",
  ];
  // Older ztunnels have the root at the end of the chain.
  const type = (index: number): string => {
    if (index === 0) return "Leaf";
    return index === chain.length - 1 && roots.length === 0 ? "Root" : "Intermediate";
  };
  return [
    ...chain.map((certificate, index) => row(type(index), certificate)),
    ...roots.map((certificate) => row("Root", certificate)),
  ];
}

function isValid({ validFrom, expirationTime }: Certificate, now: Date): boolean {
  return now.getTime() > Date.parse(validFrom) && now.getTime() < Date.parse(expirationTime);
}

export const viewConnections: MakeView = (dump, flags) => {
  const states = sortBy(
    dump.workloadState.filter(({ info }) => !flags.workloadNamespace || info.namespace === flags.workloadNamespace),
    ({ info }) => info.namespace,
    ({ info }) => info.name,
  );
  const header = ["WORKLOAD", "DIRECTION", "LOCAL", "REMOTE", "REMOTE TARGET", "PROTOCOL"];
  return { short: () => printTabs([header, ...connectionRows(dump, states, flags)], 1), data: () => states };
};

function waypointName(waypoint: { destination: string } | undefined, services: readonly Service[]): string {
  if (!waypoint) return "None";
  const { destination } = waypoint;
  const found = services.find(
    (service) => `${service.namespace}/${service.hostname}` === destination || service.vips?.includes(destination),
  );
  return found?.name ?? "NA";
}
