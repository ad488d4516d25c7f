/** What an outbound cluster stands for in; the endpoints that this proxy is told of, out. */
import { isIP } from "node:net";
import type { Mesh } from "../../mesh/index.ts";
import {
  type BuildFacet,
  type ClientTLSSettings,
  type Endpoint,
  type Health,
  hostCovers,
  isWildcard,
  type MeshConfigSpec,
  type Service,
  type TrafficPolicy,
} from "../../model/index.ts";
import { endpointPolicy, type OutboundTarget } from "../outbound/targets.ts";
import type { Policy } from "../traffic-policy/effective.ts";
import { prefersClose } from "../traffic-policy/locality.ts";
import type { View } from "../view.ts";

export interface Member {
  readonly endpoint: Endpoint;
  readonly weight: number;
  readonly health: Health;
  /** The client is to use Istio's mTLS. */
  readonly mtls: boolean;
}

const drainingLabel = "istio.io/draining";
const persistentSessionLabel = "istio.io/persistent-session";

export function clusterMembers(view: View<BuildFacet>, target: OutboundTarget): readonly Member[] {
  const { mesh } = view;
  const visible = isVisible(view, target);
  const { key } = target.service;
  const found = target.found === "eds" ? mesh.endpointsByName(key, target.port.name) : mesh.endpoints(key, target.port);
  return found.map((endpoint) => memberOf(mesh, target, endpoint)).filter(visible);
}

function memberOf(mesh: Mesh, target: OutboundTarget, endpoint: Endpoint): Member {
  return {
    endpoint,
    weight: endpoint.weight > 0 ? endpoint.weight : 1,
    health: endpoint.labels[drainingLabel] ? "draining" : endpoint.health,
    mtls: usesMtls(mesh, target, endpoint),
  };
}

function isVisible(view: View<BuildFacet>, target: OutboundTarget): (member: Member) => boolean {
  const { mesh, proxy } = view;
  const { service, subset } = target;
  const wanted = Object.entries(subset?.labels ?? {});
  const unhealthy = keepsUnhealthy(service, endpointPolicy(target));
  const local = isClusterLocal(mesh.settings(), mesh.domain, service);
  return ({ endpoint, health }) => {
    if (!isReachable(endpoint) || (target.found === "eds" && !isAddress(endpoint))) return false;
    if (service.nodeLocal && endpoint.node !== target.place?.node) return false;
    if (local && endpoint.cluster !== proxy.cluster) return false;
    if (health === "terminating" || (health === "unhealthy" && !unhealthy)) return false;
    if (health === "draining" && !service.labels[persistentSessionLabel]) return false;
    return wanted.every(([key, value]) => endpoint.labels[key] === value);
  };
}

/** Envoy refuses a whole cluster for one port that no machine has. */
function isReachable({ addresses, port }: Endpoint): boolean {
  return addresses[0] !== undefined && addresses[0] !== "" && port <= 65535;
}

/** EDS takes addresses only; a Unix socket has no port. */
function isAddress({ addresses, port }: Endpoint): boolean {
  const [first = ""] = addresses;
  return first !== "" && (port === 0 || isIP(first) !== 0);
}

/** Unhealthy ones are sent so that Envoy knows the share; with a panic threshold it would use them. */
function keepsUnhealthy(service: Service, { outlierDetection }: Policy): boolean {
  return prefersClose(service) || (outlierDetection?.minHealthPercent ?? 0) <= 0;
}

/** The rule's word counts; without one, the endpoint must have a sidecar whose policy does not turn mTLS off. */
function usesMtls(mesh: Mesh, { rule, subset, port }: OutboundTarget, endpoint: Endpoint): boolean {
  const asked = tlsModeAt(subset?.trafficPolicy, port.port) ?? tlsModeAt(rule?.spec.trafficPolicy, port.port);
  if (asked !== undefined) return asked === "ISTIO_MUTUAL";
  if (endpoint.tlsMode !== "istio") return false;
  const { mode, ports } = mesh.peerAuthentication(endpoint.namespace, endpoint.labels);
  return (ports.get(endpoint.port) ?? mode) !== "DISABLE";
}

/** Unlike other settings, TLS above the ports holds where the port level has none. */
function tlsModeAt(
  policy: TrafficPolicy | undefined,
  port: number,
): NonNullable<ClientTLSSettings["mode"]> | undefined {
  const own = policy?.portLevelSettings?.find((entry) => entry.port?.number === port && entry.tls)?.tls;
  const tls = own ?? policy?.tls;
  return tls && (tls.mode ?? "DISABLE");
}

/** Services that clients of other clusters must not reach: the most specific of the user's and Istio's own entries decides. */
function isClusterLocal(settings: MeshConfigSpec, domain: string, service: Service): boolean {
  const own = (settings.serviceSettings ?? []).flatMap((entry) =>
    (entry.hosts ?? []).map((host) => ({ host, local: entry.settings?.clusterLocal === true })),
  );
  const builtIn = [`*.kube-system.svc.${domain}`, `kubernetes.default.svc.${domain}`].map((host) => ({
    host,
    local: true,
  }));
  const fits = [...own, ...builtIn].filter(({ host }) => hostCovers(host, service.host));
  const exact = fits.find(({ host }) => !isWildcard(host));
  const longest = fits.reduce<(typeof fits)[number] | undefined>(
    (best, entry) => (best && best.host.length >= entry.host.length ? best : entry),
    undefined,
  );
  return (exact ?? longest)?.local ?? false;
}
