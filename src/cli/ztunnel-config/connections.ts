/** The connections of workloads in; their rows, with names in place of addresses, out. */
import { addressOf, type WorkloadState, type ZtunnelDump } from "./dump.ts";

export interface ConnectionFlags {
  readonly direction?: string;
  /** Addresses as they are. */
  readonly raw?: boolean;
}

export function connectionRows(
  dump: ZtunnelDump,
  states: readonly WorkloadState[],
  flags: ConnectionFlags,
): readonly (readonly string[])[] {
  const named = flags.raw ? (address: string): string => address : createNames(dump);
  return states.flatMap(({ info, connections }) => {
    const workload = `${info.name}.${info.namespace}`;
    const inbound = (connections.inbound ?? []).map((c) => [
      workload,
      "Inbound",
      named(c.actualDst),
      named(c.src),
      c.originalDst,
      c.protocol,
    ]);
    const outbound = (connections.outbound ?? []).map((c) => [
      workload,
      "Outbound",
      named(c.src),
      named(c.actualDst),
      named(c.originalDst),
      c.protocol,
    ]);
    return [...(flags.direction === "outbound" ? [] : inbound), ...(flags.direction === "inbound" ? [] : outbound)];
  });
}

/** By the first address of each; Services win over workloads. */
function createNames(dump: ZtunnelDump): (address: string) => string {
  const names = new Map([
    ...dump.workloads.map(
      ({ workloadIps, name, namespace }) => [workloadIps?.[0] || "None", `${name}.${namespace}`] as const,
    ),
    ...dump.services.map(({ vips, hostname }) => [addressOf(vips?.[0] ?? "") || "None", hostname] as const),
  ]);
  return (address) => {
    const [, bracketed, plain, port = ""] = /^(?:\[(.*)\]|([^:]*)):([^:]*)$/.exec(address) ?? [];
    const name = names.get(bracketed ?? plain ?? "");
    if (name === undefined) return address;
    return name.includes(":") ? `[${name}]:${port}` : `${name}:${port}`;
  };
}
