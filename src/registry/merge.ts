/** Services of one namespace and host that come from several objects in, the one service that clients see out. */
import { sameData } from "../collections/index.ts";
import { sortBy } from "../lib/index.ts";
import type { Service } from "../model/index.ts";

/**
 * A Kubernetes Service beats ServiceEntries, so that nobody can take its name beforehand; else the oldest has it, and
 * later ones that differ only in ports and addresses add theirs.
 */
export function mergeServices(variants: readonly Service[]): Service | undefined {
  const [first, ...rest] = sortBy(
    variants,
    (s) => (s.registry === "Kubernetes" ? 0 : 1),
    (s) => s.creationTimestamp,
    (s) => s.object,
  );
  if (!first) return undefined;
  return rest.reduce((merged, next) => (canMerge(merged, next) ? withPorts(merged, next) : merged), first);
}

function canMerge(a: Service, b: Service): boolean {
  return (
    a.namespace === b.namespace &&
    a.resolution === b.resolution &&
    a.registry === b.registry &&
    sameData(a.labels, b.labels) &&
    sameData(a.selector ?? {}, b.selector ?? {}) &&
    sameData(a.exportTo, b.exportTo)
  );
}

function withPorts(service: Service, other: Service): Service {
  const known = new Set(service.ports.map((port) => port.port));
  const added = other.ports.filter((port) => !known.has(port.port));
  const addresses = [...new Set([...service.addresses, ...other.addresses])];
  return { ...service, ports: [...service.ports, ...added], addresses };
}
