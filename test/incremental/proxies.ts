/** A seed's choices in; proxies of different kinds, as they would present themselves, out. */
import { type Identity, type ResourceType, types } from "../../src/model/index.ts";
import type { ProxyNode } from "../../src/xds/index.ts";
import type { Random } from "../random.ts";
import { apps, externalHosts, type Spec, serviceHost, userNamespaces, versions, yes, zones } from "./words.ts";

export interface LiveProxy {
  /** Unique among those that are connected. */
  readonly name: string;
  readonly node: ProxyNode;
  readonly identity: Identity;
  /** What it asks for by name from the beginning, as gRPC clients do. */
  readonly asks?: ReadonlyMap<ResourceType, readonly string[]>;
}

type Shape = "plain" | "stock" | "grpc" | "member" | "none" | "tproxy" | "ipv6" | "dual" | "router";

const shapes: readonly Shape[] = [
  "plain",
  "plain",
  "stock",
  "member",
  "grpc",
  "none",
  "tproxy",
  "ipv6",
  "dual",
  "router",
  "grpc",
  "router",
];

/** The first ones have one shape each, so that a short life has met most of them. */
export function proxy(random: Random, slot: number): LiveProxy {
  const shape = shapes[slot % shapes.length] ?? "plain";
  const made = ofShape(random, slot, shape);
  return shape === "grpc" ? asGrpc(made) : made;
}

function ofShape(random: Random, slot: number, shape: Shape): LiveProxy {
  const router = shape === "router";
  const namespace = router && random.chance(0.7) ? "istio-system" : random.pick(userNamespaces);
  // A name that a Pod may have too: then the registry's labels win over what the proxy says.
  const name = `p${slot % 7}`;
  const app = random.pick(apps);
  const serviceAccount = random.pick(["default", app]);
  const addresses = addressesOf(random, shape);
  const [region, zone] = random.chance(0.5) ? random.pick(zones) : ["", ""];
  const labels = {
    app,
    version: random.pick(versions),
    ...(router ? { istio: random.pick(["ingress", "ingress", "other"]) } : {}),
    ...(router && random.chance(0.3) ? { "gateway.networking.k8s.io/gateway-name": "kgw1" } : {}),
    ...yes(random, 0.2, () => ({ tier: random.pick(["x", "y"]) })),
  };
  return {
    name: `${name}.${namespace}#${slot}`,
    identity: { trustDomain: "cluster.local", namespace, serviceAccount },
    node: {
      id: `${router ? "router" : "sidecar"}~${addresses[0]}~${name}.${namespace}~${namespace}.svc.cluster.local`,
      cluster: random.chance(0.3) ? `${app}.${namespace}` : "",
      metadata: {
        NAMESPACE: namespace,
        LABELS: labels,
        SERVICE_ACCOUNT: serviceAccount,
        INSTANCE_IPS: addresses.join(","),
        CLUSTER_ID: "Kubernetes",
        ISTIO_VERSION: random.pick(["1.28.0", "1.28.0", "1.24.1"]),
        MESH_ID: "cluster.local",
        WORKLOAD_NAME: app,
        ...(shape === "none" ? { INTERCEPTION_MODE: "NONE" } : {}),
        ...(shape === "tproxy" ? { INTERCEPTION_MODE: "TPROXY" } : {}),
        ...moreMetadata(random),
      },
      locality: { region, zone, subZone: "" },
      extensions: new Set(shape === "stock" ? ["envoy.filters.http.router"] : []),
      userAgent: "",
    },
  };
}

/** Members of headless services have addresses that slices name too. */
function addressesOf(random: Random, shape: Shape): readonly [string, ...string[]] {
  const v4 = shape === "member" ? `10.0.${random.whole(3)}.${1 + random.whole(12)}` : `10.1.0.${1 + random.whole(250)}`;
  if (shape === "ipv6") return ["fd00::7"];
  return shape === "dual" ? [v4, "fd00::8"] : [v4];
}

const moreMetadata = (random: Random): Spec => ({
  ...yes(random, 0.2, () => ({ DNS_CAPTURE: "true" })),
  ...yes(random, 0.2, () => ({ NETWORK: random.pick(["net1", "net2"]) })),
  ...yes(random, 0.1, () => ({ HTTP10: "1" })),
  ...yes(random, 0.1, () => ({ TLS_CLIENT_CERT_CHAIN: "/c", TLS_CLIENT_KEY: "/k", TLS_CLIENT_ROOT_CERT: "/r" })),
  ...yes(random, 0.2, () => ({ GENERATOR: random.pick(["x", "y"]) })),
  ...yes(random, 0.2, () => ({ NODE_NAME: "n1" })),
  ...yes(random, 0.1, () => ({ IDLE_TIMEOUT: "9s" })),
  ...yes(random, 0.1, () => ({ UNPRIVILEGED_POD: "true" })),
});

const grpcPorts = [80, 443, 7070, 8080, 8443, 9000];

/** The same as an application that is its own xDS client, and that dials everything there may be. */
export function asGrpc(live: LiveProxy): LiveProxy {
  const hosts = [
    ...userNamespaces.flatMap((namespace) => apps.map((app) => serviceHost(app, namespace))),
    ...externalHosts.filter((host) => !host.startsWith("*")),
  ];
  const places = hosts.flatMap((host) => grpcPorts.map((port) => ({ host, port })));
  const clusters = places.flatMap(({ host, port }) =>
    ["", ...versions].map((subset) => `outbound|${port}|${subset}|${host}`),
  );
  const listeners = [
    ...places.map(({ host, port }) => `${host}:${port}`),
    ...apps.map((app) => `${app}:80`),
    ...[80, 7070, 8080, 9000].map((port) => `xds.istio.io/grpc/lds/inbound/[::]:${port}`),
  ];
  const { node } = live;
  return {
    ...live,
    node: { ...node, id: node.id.replace(/^router/, "sidecar"), metadata: { ...node.metadata, GENERATOR: "grpc" } },
    asks: new Map([
      [types.listener, listeners],
      [types.route, places.map(({ host, port }) => `outbound|${port}||${host}`)],
      [types.cluster, clusters],
      [types.endpoint, clusters],
    ]),
  };
}
