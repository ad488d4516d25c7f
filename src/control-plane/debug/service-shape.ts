/** Services and endpoints of the mesh in; the same in the shapes of istiod's debug paths, which tools read, out. */
import type { Endpoint, Health, Resolution, Service, ServicePort } from "../../model/index.ts";

const resolutions: Readonly<Record<Resolution, number>> = {
  ...{ static: 0, dns: 1, passthrough: 2, "dns-round-robin": 3, alias: 4, "dynamic-dns": 5 },
};

const distributions: Readonly<Record<Service["trafficDistribution"], number>> = {
  ...{ "": 0, any: 0, "prefer-close": 1, "prefer-same-zone": 1, "prefer-same-network": 0, "prefer-same-node": 2 },
};

const healths: Readonly<Record<Health, number>> = { unknown: 0, healthy: 1, unhealthy: 2, draining: 3, terminating: 4 };

/** Go's nothing is null. */
const orNull = <T extends object>(value: T | undefined): T | null =>
  value === undefined || Object.keys(value).length === 0 ? null : value;

export function serviceShape(service: Service, cluster: string): object {
  const [first] = service.addresses;
  const [four, six] = [
    service.autoAddresses.find((ip) => !ip.includes(":")),
    service.autoAddresses.find((ip) => ip.includes(":")),
  ];
  const isExternal = service.registry === "External";
  const hasAddresses = service.addresses.length > 0 && !isExternal;
  return {
    Attributes: attributesOf(service, cluster),
    ports: service.ports.map(portShape),
    ...(service.serviceAccounts.length === 0 ? {} : { serviceAccounts: service.serviceAccounts }),
    creationTime: service.creationTimestamp,
    hostname: service.host,
    clusterVIPs: { Addresses: hasAddresses ? { [cluster]: service.addresses } : null },
    defaultAddress: first ?? "0.0.0.0",
    ...(four === undefined ? {} : { autoAllocatedIPv4Address: four }),
    ...(six === undefined ? {} : { autoAllocatedIPv6Address: six }),
    Resolution: resolutions[service.resolution],
    MeshExternal: service.meshExternal,
    // Reads are recorded by key, so nobody here needs the version of the object.
    ResourceVersion: "",
  };
}

function attributesOf(service: Service, cluster: string): object {
  const exported = service.declaredExportTo;
  const external = service.externalAddresses.length === 0 ? null : { [cluster]: service.externalAddresses };
  const [, , objectName = ""] = service.object.split("/");
  return {
    ServiceRegistry: service.registry,
    Name: service.name,
    Namespace: service.namespace,
    Labels: orNull(service.labels),
    ExportTo: exported === undefined ? null : Object.fromEntries(exported.map((name) => [name, {}])),
    Visibility: 0,
    LabelSelectors: orNull(service.selector),
    Aliases: null,
    ClusterExternalAddresses: { Addresses: external },
    ...{ ClusterExternalPorts: null, PassthroughTargetPorts: null },
    Type: service.type ?? "",
    ExternalName: service.externalName ?? "",
    NodeLocal: service.nodeLocal,
    TrafficDistribution: distributions[service.trafficDistribution],
    ObjectName: service.registry === "External" ? objectName : "",
    DNSConnectStrategy: 0,
    PublishNotReadyAddresses: service.publishNotReady,
  };
}

export function portShape({ name, port, protocol }: ServicePort): object {
  return { name, port, protocol };
}

export function endpointShape(endpoint: Endpoint): object {
  const isWatched = endpoint.health !== "unknown";
  // Istio puts the network beside the labels of whatever Kubernetes runs.
  const labels = isWatched ? { ...endpoint.labels, "topology.istio.io/network": endpoint.network } : endpoint.labels;
  return {
    Labels: orNull(labels),
    Addresses: endpoint.addresses,
    ServicePortName: endpoint.portName,
    LegacyClusterPortKey: endpoint.servicePort ?? 0,
    ServiceAccount: endpoint.identity,
    Network: endpoint.network,
    Locality: { Label: endpoint.place, ClusterID: endpoint.cluster },
    EndpointPort: endpoint.port,
    LbWeight: endpoint.weight,
    TLSMode: endpoint.tlsMode,
    Namespace: endpoint.namespace,
    WorkloadName: endpoint.workload,
    HostName: endpoint.hostname,
    SubDomain: endpoint.subdomain,
    HealthStatus: healths[endpoint.health],
    SendUnhealthyEndpoints: isWatched,
    NodeName: endpoint.node,
  };
}
