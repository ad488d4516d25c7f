/** A destination, and the service behind its host, in; the name of the cluster that traffic goes to out. */
import type { Destination, ServicePort } from "../../model/index.ts";
import { outboundCluster } from "../outbound/cluster-name.ts";

/** What of a service decides which cluster is meant. */
export interface DestinationService {
  readonly externalName?: string | undefined;
  readonly ports: readonly Pick<ServicePort, "port">[];
}

export type ServiceLookup = (host: string) => DestinationService | undefined;

/** Only Gateway API objects with an unknown backend have such destinations. */
const unknownCluster = "UnknownService";

/** The port: as written, else the service's only one, else that of the listener. A host may be unknown: traffic is then lost. */
export function destinationCluster(
  destination: Destination,
  service: DestinationService | undefined,
  port: number,
): string {
  if (!destination.host) return unknownCluster;
  const only = service?.ports.length === 1 ? service.ports[0]?.port : undefined;
  const number = destination.port ? (destination.port.number ?? 0) : (only ?? port);
  return outboundCluster(service?.externalName || destination.host, number, destination.subset);
}
