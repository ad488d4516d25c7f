/** Services of one namespace and host that come from several objects in, the same in order of precedence out. */
import { sortBy } from "../lib/index.ts";
import type { Service } from "../model/index.ts";

/** A Kubernetes Service comes before ServiceEntries, so that nobody can take its name beforehand; else the oldest first. */
export function byPrecedence(services: readonly Service[]): readonly Service[] {
  return sortBy(
    services,
    (service) => (service.registry === "Kubernetes" ? 0 : 1),
    (service) => service.creationTimestamp,
    (service) => service.object,
  );
}
