/** VirtualServices against what they refer to: hosts, subsets, gateways, request authentication; and against each other. */
import { compareText } from "../../lib/index.ts";
import {
  type Destination,
  destinationRule,
  gateway,
  hostsOverlap,
  kubeGateway,
  matchesLabels,
  requestAuthentication,
  type VirtualServiceSpec,
  virtualService,
} from "../../model/index.ts";
import { isClaim } from "../validate/header.ts";
import { type Analyser, type Analysis, notFound } from "./analyser.ts";
import { fullHost, type KnownHost, knownHosts, scopesOf } from "./hosts.ts";
import { type AnalysedObject, inNamespace } from "./objects.ts";

type Service = AnalysedObject<VirtualServiceSpec>;

interface Target {
  readonly path: string;
  readonly destination: Destination;
  readonly mirror: boolean;
}

function targetsOf({ tcp = [], tls = [], http = [] }: VirtualServiceSpec): readonly Target[] {
  const lists = Object.entries({ tcp, tls, http });
  const routed = lists.flatMap(([field, routes]) =>
    routes.flatMap(({ route = [] }, i) =>
      route.map(({ destination = {} }, j) => ({
        path: `spec.${field}[${i}].route[${j}].destination.host`,
        destination,
        mirror: false,
      })),
    ),
  );
  const mirrored = http.flatMap(({ mirror, mirrors = [] }, i) => [
    ...(mirror ? [{ path: `spec.http[${i}].mirror.host`, destination: mirror, mirror: true }] : []),
    ...mirrors.map(({ destination = {} }, j) => ({
      path: `spec.http[${i}].mirrors[${j}].destination.host`,
      destination,
      mirror: true,
    })),
  ]);
  return [...routed, ...mirrored];
}

export const destinationHosts: Analyser = {
  name: "virtualservice.DestinationHostAnalyzer",
  needsCluster: true,
  run(analysis) {
    const hosts = knownHosts(analysis.objects);
    const services = analysis.objects.of(virtualService);
    for (const service of services) {
      for (const target of targetsOf(service.spec)) {
        const { host = "" } = target.destination;
        const known = hosts.find(service.meta.namespace, service.spec.exportTo ?? [], host);
        if (known) checkPorts(analysis, service, target, known);
        else analysis.report(service, "IST0101", notFound(target.mirror ? "mirror host" : "host", host), target.path);
      }
      checkIngressSubsets(analysis, service, services);
    }
  },
};

function checkPorts({ report }: Analysis, service: Service, { destination, path }: Target, { ports }: KnownHost): void {
  const { host = "", port } = destination;
  if (!port) {
    if (ports.length > 1)
      report(
        service,
        "IST0112",
        `This VirtualService routes to a service ${JSON.stringify(host)} that exposes multiple ports [${ports.join(" ")}]. Specifying a port in the destination is required to disambiguate.`,
        path,
      );
  } else if (!ports.includes(port.number ?? 0))
    report(service, "IST0101", notFound("host:port", `${host}:${port.number ?? 0}`), path);
}

/** Subsets that a VirtualService of the mesh gives to a host have no say in what a gateway routes to it. */
function checkIngressSubsets({ report }: Analysis, service: Service, services: readonly Service[]): void {
  if ((service.spec.gateways ?? []).length === 0) return;
  (service.spec.http ?? []).forEach(({ route = [] }, i) => {
    route.forEach(({ destination = {} }, j) => {
      if (destination.subset) return;
      for (const other of services)
        for (const { host, subset } of (other.spec.http ?? []).flatMap((http) =>
          (http.route ?? []).map((one) => one.destination ?? {}),
        ))
          if (subset && host === destination.host && (other.spec.hosts ?? []).includes(host ?? ""))
            report(
              service,
              "IST0140",
              `Subset in virtual service ${other.fullName} has no effect on ingress gateway ${service.fullName} requests`,
              `spec.http[${i}].route[${j}]`,
            );
    });
  });
}

/** `name.ns.svc.cluster.local` and `name` in `ns` are one host. */
function hostKey(namespace: string, host: string): string {
  const match = /^(.+)\.(.+)\.svc\.cluster\.local$/.exec(host);
  return match ? `${match[2]}/${match[1]}` : `${namespace}/${host}`;
}

export const destinationSubsets: Analyser = {
  name: "virtualservice.DestinationRuleAnalyzer",
  needsCluster: false,
  run({ objects, report }) {
    const known = new Set(
      objects
        .of(destinationRule)
        .flatMap(({ meta, spec }) =>
          (spec.subsets ?? []).map(({ name = "" }) => `${hostKey(meta.namespace, spec.host ?? "")}+${name}`),
        ),
    );
    for (const service of objects.of(virtualService))
      for (const { destination, path, mirror } of targetsOf(service.spec)) {
        const { host = "", subset = "" } = destination;
        if (subset === "" || known.has(`${hostKey(service.meta.namespace, host)}+${subset}`)) continue;
        const what = mirror ? "mirror+subset in destinationrule" : "host+subset in destinationrule";
        report(service, "IST0101", notFound(what, `${host}+${subset}`), path);
      }
  },
};

export const gateways: Analyser = {
  name: "virtualservice.GatewayAnalyzer",
  needsCluster: false,
  run(analysis) {
    for (const service of analysis.objects.of(virtualService))
      (service.spec.gateways ?? []).forEach((name, i) => {
        if (name !== "mesh") checkGateway(analysis, service, name, `spec.gateways[${i}]`);
      });
  },
};

function checkGateway({ objects, report }: Analysis, service: Service, name: string, path: string): void {
  const { namespace } = service.meta;
  const { hosts = [] } = service.spec;
  if (name.slice(name.indexOf("/") + 1).includes("~istio-autogenerated-k8s-gateway~")) {
    report(
      service,
      "IST0165",
      `Gateway reference in VirtualService ${service.fullName} is to an implementation-generated internal Gateway: ${name}.`,
      path,
    );
    return;
  }
  const fullName = inNamespace(namespace, name);
  const own = objects.find(gateway, fullName);
  const kube = own ? undefined : objects.find(kubeGateway, fullName);
  if (!own && !kube) report(service, "IST0101", notFound("gateway", name), path);
  const listeners = (kube?.spec.listeners ?? []).map(({ hostname = "" }) => hostname);
  const open = kube
    ? listeners.map((host) => host || "*")
    : (own?.spec.servers ?? []).flatMap((server) => hostsFor(server.hosts ?? [], own?.meta.namespace ?? "", namespace));
  if (!open.some((outer) => hosts.some((host) => hostsOverlap(outer, host))))
    report(
      service,
      "IST0132",
      `one or more host [${hosts.join(" ")}] defined in VirtualService ${service.fullName} not found in Gateway ${fullName}.`,
      path,
    );
}

/** The hosts of a server that a VirtualService of the namespace may use: `ns/host`, `./host`, `*​/host` or plain. */
function hostsFor(hosts: readonly string[], owner: string, namespace: string): readonly string[] {
  return hosts.flatMap((entry) => {
    const slash = entry.indexOf("/");
    if (slash < 0) return [entry];
    const scope = entry.slice(0, slash) === "." ? owner : entry.slice(0, slash);
    return scope === "*" || scope === namespace ? [entry.slice(slash + 1)] : [];
  });
}

export const meshHosts: Analyser = {
  name: "virtualservice.ConflictingMeshGatewayHostsAnalyzer",
  needsCluster: false,
  run({ objects, report }) {
    const byHost = new Map<string, Service[]>();
    for (const service of objects.of(virtualService)) {
      const { gateways: bound = [], hosts = [], exportTo = [] } = service.spec;
      if (bound.length > 0 && !bound.includes("mesh")) continue;
      for (const scope of scopesOf(exportTo, service.meta.namespace))
        for (const host of hosts) {
          const key = `${scope}/${fullHost(service.meta.namespace, host)}`;
          byHost.set(key, [...(byHost.get(key) ?? []), service]);
        }
    }
    const told = new Set<string>();
    for (const key of [...byHost.keys()].sort(compareText)) {
      const sharing = [...(byHost.get(key) ?? []), ...publicOf(byHost, key)];
      if (sharing.length < 2) continue;
      const names = sharing
        .map((service) => service.fullName)
        .sort(compareText)
        .join(",");
      for (const service of sharing) {
        if (told.has(service.fullName)) continue;
        told.add(service.fullName);
        report(
          service,
          "IST0109",
          `The VirtualServices ${names} associated with mesh gateway define the same host ${key} which can lead to undefined behavior. This can be fixed by merging the conflicting VirtualServices into a single resource.`,
          "metadata.name",
        );
      }
    }
  },
};

/** What everybody sees also meets what one namespace sees. */
function publicOf(byHost: ReadonlyMap<string, readonly Service[]>, key: string): readonly Service[] {
  if (key.startsWith("*/")) return [];
  const host = key.slice(key.indexOf("/") + 1);
  return [...byHost].flatMap(([other, services]) =>
    other.startsWith("*/") && hostsOverlap(host, other.slice(2)) ? services : [],
  );
}

export const claimRoutes: Analyser = {
  name: "virtualservice.JWTClaimRouteAnalyzer",
  needsCluster: true,
  run({ objects, report }) {
    const policies = objects
      .of(requestAuthentication)
      .map(({ meta, spec }) => ({ namespace: meta.namespace, labels: spec.selector?.matchLabels ?? {} }));
    const authenticated = (namespace: string, labels: Readonly<Record<string, string>>): boolean =>
      policies.some(
        (policy) => ["istio-system", namespace].includes(policy.namespace) && matchesLabels(policy.labels, labels),
      );
    for (const service of objects.of(virtualService)) {
      const key = claimOf(service.spec);
      if (key === undefined) continue;
      for (const name of service.spec.gateways ?? []) {
        const fullName = inNamespace(service.meta.namespace, name);
        const found = name === "mesh" ? undefined : objects.find(gateway, fullName);
        if (!found) continue;
        for (const pod of objects.kube("Pod"))
          if (
            matchesLabels(found.spec.selector ?? {}, pod.meta.labels) &&
            !authenticated(pod.meta.namespace, pod.meta.labels)
          )
            report(
              service,
              "IST0149",
              `The virtual service uses the JWT claim based routing (key: ${key}) but found no request authentication for the gateway (${fullName}) pod (${pod.meta.name}). The request authentication must first be applied for the gateway pods to validate the JWT token and make the claims available for routing.`,
            );
      }
    }
  },
};

function claimOf(spec: VirtualServiceSpec): string | undefined {
  const matches = (spec.http ?? []).flatMap(({ match = [] }) => match);
  return matches
    .flatMap((match) => [...Object.keys(match.headers ?? {}), ...Object.keys(match.withoutHeaders ?? {})])
    .find(isClaim);
}
