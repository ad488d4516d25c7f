/** The registry in; the rows and pages of services out. */
import { type Endpoint, hostCovers, localityName, resolveHost, type Service } from "../../model/index.ts";
import type { EndpointRow, ServiceDetail, ServiceReads, ServiceRow } from "../../read-api/index.ts";
import type { Stages } from "../stages.ts";
import type { Traffic } from "../traffic/index.ts";
import { clientPolicies, policiesOf, ruleOf, versionsOf } from "./policies.ts";
import { objectOf, routesTo } from "./routes-to.ts";
import { ofService, readSeen } from "./seen.ts";

export function createServiceReads(
  { registry, mesh, configs }: Stages,
  traffic: Pick<Traffic, "view" | "everywhere">,
): ServiceReads {
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
    services: () =>
      registry.services
        .keys()
        .flatMap((key) => registry.services.get(key) ?? [])
        .map(row)
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
    async service(id, looked) {
      const service = registry.services.get(id);
      if (!service) return undefined;
      const [endpoints, rule] = [endpointsOf(service), ruleOf(mesh, service)];
      const { virtualServices } = configs;
      const { callers, series } = await readSeen(traffic, looked, ofService(service.host));
      return {
        ...row(service),
        ...{ callers, series },
        versions: versionsOf(rule, endpoints),
        routes: routesTo(service.host, valuesOf(virtualServices), mesh.domain),
        policies: [...clientPolicies(rule), ...servingPolicies(mesh, endpoints)],
        addresses: service.addresses,
        endpointList: endpoints.slice(0, maxEndpoints).map(endpointRow),
        objects: aboutHost(service.host, mesh.domain, configs),
      };
    },
  };
}

function* valuesOf<T>(collection: { keys(): readonly string[]; get(key: string): T | undefined }): Generator<T> {
  for (const key of collection.keys()) {
    const value = collection.get(key);
    if (value !== undefined) yield value;
  }
}

/** Of so many different workloads; what serves one host hardly differs in more. */
const maxWorkloads = 20;

function servingPolicies(mesh: Stages["mesh"], endpoints: readonly Endpoint[]): ServiceDetail["policies"] {
  const workloads = new Map(
    endpoints.map(({ namespace, workload, labels }) => [`${namespace}/${workload}`, { namespace, labels }]),
  );
  const all = [...workloads.values()]
    .slice(0, maxWorkloads)
    .filter(({ namespace }) => namespace !== "")
    .flatMap(({ namespace, labels }) => policiesOf(mesh, namespace, labels));
  // Whom they call is no matter of the host.
  const own = all.filter(({ about }) => about !== "reach");
  return [...new Map(own.map((effect) => [JSON.stringify(effect), effect])).values()];
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
      ? [{ object: objectOf(config), effect: "routes requests to this host" }]
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
