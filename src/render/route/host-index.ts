/** A plan of hosts in; the host that a service's own listener means by the name of its routes, without a search, out. */
import type { RouteName } from "./egress.ts";
import type { HostPlan, PlannedHost } from "./host-plan.ts";

export interface HostIndex {
  named(name: string): PlannedHost | undefined;
  serving(domain: string): PlannedHost | undefined;
  /** Objects that wanted the host of this name and did not get all of it. */
  refused(name: string): readonly string[];
}

const nobody: readonly string[] = [];

/** A plan has no name and no domain twice. `under` is asked for what is not in this one. */
export function indexHosts({ hosts, refused }: Pick<HostPlan, "hosts" | "refused">, under?: HostIndex): HostIndex {
  const byName = new Map(hosts.map((host) => [host.name, host]));
  // Nearly all are found by their names.
  let byDomain: ReadonlyMap<string, PlannedHost> | undefined;
  return {
    named: (name) => byName.get(name) ?? under?.named(name),
    serving(domain) {
      byDomain ??= new Map(hosts.flatMap((host) => host.domains.map((served) => [served, host])));
      return byDomain.get(domain) ?? under?.serving(domain);
    },
    refused: (name) => refused.get(name) ?? under?.refused(name) ?? nobody,
  };
}

export function hostOfRoute(index: HostIndex, { name, host = "" }: RouteName): PlannedHost | undefined {
  const named = index.named(name);
  return named?.domains.some((domain) => domain === host || domain === name) ? named : index.serving(host);
}
