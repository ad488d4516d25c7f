/** The registry in; the rows and pages of services out. */
import type { EndpointRow, ServiceDetail, ServiceRow } from "../../dashboard/index.ts";
import { type Endpoint, hostCovers, localityName, resolveHost, type Service } from "../../model/index.ts";
import type { Stages } from "../stages.ts";

export interface ServiceReads {
  rows(): readonly ServiceRow[];
  detail(id: string): ServiceDetail | undefined;
}

export function createServiceReads({ registry, mesh, configs }: Stages): ServiceReads {
  const endpointsOf = (service: Service): readonly Endpoint[] =>
    service.ports.flatMap(({ name }) => mesh.endpointsByName(service.key, name));
  const row = (service: Service): ServiceRow => {
    const endpoints = endpointsOf(service);
    return {
      id: service.key,
      namespace: service.namespace,
      host: service.host,
      object: service.object,
      ports: service.ports.map(({ port, protocol, name }) => `${port} ${protocol} ${name}`.trim()),
      endpoints: endpoints.length,
      healthy: endpoints.filter(({ health }) => health === "healthy" || health === "unknown").length,
    };
  };
  return {
    rows: () =>
      registry.services
        .keys()
        .flatMap((key) => registry.services.get(key) ?? [])
        .map(row)
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
    detail(id) {
      const service = registry.services.get(id);
      return (
        service && {
          ...row(service),
          addresses: service.addresses,
          endpointList: endpointsOf(service).slice(0, maxEndpoints).map(endpointRow),
          objects: aboutHost(service.host, mesh.domain, configs),
        }
      );
    },
  };
}

const maxEndpoints = 500;

const endpointRow = (endpoint: Endpoint): EndpointRow => ({
  address: endpoint.addresses.join(", "),
  port: `${endpoint.port} ${endpoint.portName}`.trim(),
  health: endpoint.health,
  workload: endpoint.workload === "" ? "" : `${endpoint.namespace}/${endpoint.workload}`,
  identity: endpoint.identity,
  locality: localityName(endpoint.locality),
});

function aboutHost(
  host: string,
  domain: string,
  { virtualServices, destinationRules }: Stages["configs"],
): ServiceDetail["objects"] {
  const isAbout = (name: string, { namespace }: { readonly namespace: string }): boolean =>
    hostCovers(resolveHost(name, namespace, domain), host);
  const routes = virtualServices.keys().flatMap((key) => {
    const config = virtualServices.get(key);
    return config?.spec.hosts?.some((name) => isAbout(name, config.meta))
      ? [{ object: `VirtualService/${key}`, effect: "routes requests to this host" }]
      : [];
  });
  const rules = destinationRules.keys().flatMap((key) => {
    const config = destinationRules.get(key);
    return config && isAbout(config.spec.host ?? "", config.meta)
      ? [{ object: `DestinationRule/${key}`, effect: "says how clients connect" }]
      : [];
  });
  return [...routes, ...rules];
}
