/** A seed's choices in; Istio's traffic objects out: routes, rules, entries, sidecars, gateways. */
import type { KubeObject } from "../../../src/model/index.ts";
import type { Random } from "../../random.ts";
import {
  address,
  apps,
  exportTo,
  externalHosts,
  gatewayHosts,
  host,
  labels,
  namespaces,
  object,
  ports,
  type Spec,
  seconds,
  serviceHost,
  some,
  times,
  userNamespaces,
  versions,
  yes,
  zones,
} from "../words.ts";

const networking = "networking.istio.io/v1";

export function virtualService(random: Random, name: string, namespace: string): KubeObject {
  const delegated = name.startsWith("part");
  return object(networking, "VirtualService", name, namespace, {
    spec: {
      ...(delegated
        ? {}
        : { hosts: random.chance(0.3) ? [random.pick(gatewayHosts)] : times(random, 1, 2, () => host(random)) }),
      ...(delegated
        ? {}
        : yes(random, 0.4, () => ({ gateways: some(random, ["mesh", "gw1", "red/gw2", "istio-system/gw1"], 1, 2) }))),
      ...exportTo(random),
      ...yes(random, 0.8, () => ({ http: times(random, 1, 3, () => httpRoute(random, delegated)) })),
      ...yes(random, 0.3, () => ({ tcp: times(random, 1, 2, () => tcpRoute(random)) })),
      ...yes(random, 0.3, () => ({ tls: times(random, 1, 2, () => tlsRoute(random)) })),
    },
  });
}

const destination = (random: Random): Spec => ({
  host: host(random),
  ...yes(random, 0.4, () => ({ subset: random.pick(versions) })),
  ...yes(random, 0.4, () => ({ port: { number: random.pick(ports).port } })),
});

const weighted = (random: Random): readonly Spec[] => {
  const first = { destination: destination(random) };
  if (random.chance(0.6)) return [first];
  const weight = 10 * (1 + random.whole(8));
  return [
    { ...first, weight },
    { destination: destination(random), weight: 100 - weight },
  ];
};

function httpRoute(random: Random, delegated: boolean): Spec {
  const match = yes(random, 0.5, () => ({ match: times(random, 1, 2, () => httpMatch(random)) }));
  if (!delegated && random.chance(0.15))
    return {
      ...match,
      delegate: {
        name: random.pick(["part1", "part2"]),
        ...yes(random, 0.5, () => ({ namespace: random.pick(userNamespaces) })),
      },
    };
  if (random.chance(0.05)) return { ...match, redirect: { uri: "/elsewhere" } };
  if (random.chance(0.05)) return { ...match, directResponse: { status: 503, body: { string: "no" } } };
  return {
    ...match,
    ...yes(random, 0.3, () => ({ name: `r${random.whole(3)}` })),
    route: weighted(random),
    ...yes(random, 0.3, () => ({ timeout: seconds(random) })),
    ...yes(random, 0.2, () => ({ retries: { attempts: random.whole(4), perTryTimeout: seconds(random) } })),
    ...yes(random, 0.1, () => ({ mirror: destination(random) })),
    ...yes(random, 0.1, () => ({ rewrite: { uri: "/r" } })),
    ...yes(random, 0.1, () => ({
      headers: {
        request: random.pick<Spec>([{ add: { "x-a": `${random.whole(3)}`, "x-b": "1" } }, { set: authority }]),
      },
    })),
    ...yes(random, 0.1, () => ({ fault: { delay: { fixedDelay: seconds(random), percentage: { value: 10 } } } })),
    ...yes(random, 0.1, () => ({ corsPolicy: { allowOrigins: [{ exact: "https://x" }] } })),
  };
}

/** Of several names for one thing the last by name is taken. */
const authority: Spec = { ":authority": "a.com", host: "b.com", Host: "c.com" };

const httpMatch = (random: Random): Spec => ({
  ...yes(random, 0.5, () => ({ uri: { [random.pick(["exact", "prefix"])]: random.pick(["/", "/x", "/y"]) } })),
  ...yes(random, 0.2, () => ({ headers: { "x-h": { exact: `${random.whole(3)}` }, "x-g": { prefix: "g" } } })),
  ...yes(random, 0.2, () => ({ port: random.pick(ports).port })),
  ...yes(random, 0.3, () => ({ sourceLabels: labels(random) })),
  ...yes(random, 0.2, () => ({ sourceNamespace: random.pick(userNamespaces) })),
  ...yes(random, 0.2, () => ({ gateways: some(random, ["mesh", "gw1", "red/gw2"], 1, 2) })),
});

const layer4Match = (random: Random): Spec => ({
  ...yes(random, 0.5, () => ({ port: random.pick(ports).port })),
  ...yes(random, 0.3, () => ({ sourceLabels: labels(random) })),
  ...yes(random, 0.2, () => ({ sourceNamespace: random.pick(userNamespaces) })),
  ...yes(random, 0.2, () => ({ destinationSubnets: [random.pick(["10.96.0.0/24", "10.96.1.2"])] })),
  ...yes(random, 0.2, () => ({ gateways: some(random, ["mesh", "gw1", "red/gw2"], 1, 2) })),
});

const tcpRoute = (random: Random): Spec => ({
  ...yes(random, 0.6, () => ({ match: [layer4Match(random)] })),
  route: weighted(random),
});

const tlsRoute = (random: Random): Spec => ({
  match: [{ ...layer4Match(random), sniHosts: [random.pick([...gatewayHosts, ...externalHosts, host(random)])] }],
  route: weighted(random),
});

export function destinationRule(random: Random, name: string, namespace: string): KubeObject {
  return object(networking, "DestinationRule", name, namespace, {
    spec: {
      host: host(random),
      ...exportTo(random),
      ...yes(random, 0.2, () => ({ workloadSelector: { matchLabels: labels(random) } })),
      ...yes(random, 0.7, () => ({ trafficPolicy: trafficPolicy(random, true) })),
      ...yes(random, 0.6, () => ({
        subsets: some(random, versions, 1, 2).map((version) => ({
          name: version,
          labels: random.chance(0.8) ? { version } : {},
          ...yes(random, 0.3, () => ({ trafficPolicy: trafficPolicy(random, true) })),
        })),
      })),
    },
  });
}

function trafficPolicy(random: Random, whole: boolean): Spec {
  return {
    ...yes(random, 0.4, () => ({ loadBalancer: loadBalancer(random) })),
    ...yes(random, 0.3, () => ({
      connectionPool: { http: { http2MaxRequests: 1 + random.whole(50) }, tcp: { connectTimeout: seconds(random) } },
    })),
    ...yes(random, 0.3, () => ({ outlierDetection: { consecutive5xxErrors: 1 + random.whole(5) } })),
    ...yes(random, 0.3, () => ({ tls: clientTls(random) })),
    ...(whole
      ? yes(random, 0.2, () => ({
          portLevelSettings: [{ port: { number: random.pick(ports).port }, ...trafficPolicy(random, false) }],
        }))
      : {}),
    ...(whole ? yes(random, 0.05, () => ({ tunnel: { targetHost: "t.example.com", targetPort: 443 } })) : {}),
    ...(whole ? yes(random, 0.05, () => ({ proxyProtocol: { version: "V2" } })) : {}),
  };
}

export function localitySetting(random: Random): Spec {
  return random.pick([
    () => ({ enabled: random.chance(0.5) }),
    () => ({ failover: [{ from: "r1", to: "r2" }] }),
    () => ({ distribute: [{ from: "r1/z1/*", to: { "r1/z1/*": 80, "r2/z3/*": 20 } }] }),
    () => ({ distribute: [{ from: "*", to: { "*": 50, "r1/*": 20, "r1/z2/*": 30 } }] }),
    () => ({ failoverPriority: random.pick([["version"], ["topology.kubernetes.io/region", "tier"], ["tier=x"]]) }),
  ])();
}

function loadBalancer(random: Random): Spec {
  return {
    ...random.pick([
      () => ({ simple: random.pick(["ROUND_ROBIN", "LEAST_REQUEST", "RANDOM", "PASSTHROUGH"]) }),
      () => ({
        consistentHash: random.pick([
          { httpHeaderName: "x-user" },
          { useSourceIp: true },
          { httpCookie: { name: "u", ttl: "0s" } },
        ]),
      }),
      () => ({}),
    ])(),
    ...yes(random, 0.4, () => ({ localityLbSetting: localitySetting(random) })),
    ...yes(random, 0.1, () => ({ warmup: { duration: seconds(random) } })),
  };
}

const clientTls = (random: Random): Spec =>
  random.pick([
    { mode: "DISABLE" },
    { mode: "ISTIO_MUTUAL" },
    { mode: "SIMPLE", sni: "x.example.com" },
    { mode: "SIMPLE", credentialName: "cert1" },
    { mode: "MUTUAL", credentialName: "cert2", subjectAltNames: ["x"] },
    { mode: "MUTUAL", clientCertificate: "/c", privateKey: "/k", caCertificates: "/r" },
  ]);

export function serviceEntry(random: Random, name: string, namespace: string): KubeObject {
  const resolution = random.pick(["NONE", "STATIC", "DNS", "DNS", "DNS_ROUND_ROBIN", "DYNAMIC_DNS"]);
  const selected = resolution !== "NONE" && random.chance(0.3);
  return object(networking, "ServiceEntry", name, namespace, {
    metadata: { labels: yes(random, 0.2, () => ({ "istio.io/use-waypoint": "none" })) },
    spec: {
      hosts: some(random, [...externalHosts, serviceHost(random.pick(apps), namespace)], 1, 2),
      ...yes(random, 0.4, () => ({
        addresses: some(random, ["240.1.0.1", "240.1.0.2", "240.2.0.0/16", "10.96.0.3", "2001:db8::1"], 1, 2),
      })),
      ports: some(random, ports, 1, 2).map(({ name: portName, port, protocol }) => ({
        name: portName,
        number: port,
        protocol: random.chance(0.1) ? "UDP" : protocol || "HTTP",
        ...yes(random, 0.2, () => ({ targetPort: 8080 })),
      })),
      ...yes(random, 0.7, () => ({ location: random.pick(["MESH_INTERNAL", "MESH_EXTERNAL"]) })),
      resolution,
      ...(selected ? { workloadSelector: { labels: labels(random) } } : {}),
      ...(!selected && resolution !== "NONE" && random.chance(0.7)
        ? {
            endpoints: times(random, 1, resolution === "DNS_ROUND_ROBIN" ? 1 : 3, () =>
              workload(random, resolution !== "STATIC"),
            ),
          }
        : {}),
      ...exportTo(random),
      ...yes(random, 0.1, () => ({ subjectAltNames: ["spiffe://x"] })),
    },
  });
}

function workload(random: Random, named: boolean): Spec {
  return {
    address: named && random.chance(0.5) ? random.pick(["one.example.com", "two.example.com"]) : address(random),
    labels: { ...labels(random), ...yes(random, 0.3, () => ({ "security.istio.io/tlsMode": "istio" })) },
    ...yes(random, 0.3, () => ({ locality: random.pick(zones).join("/") })),
    ...yes(random, 0.3, () => ({ ports: { [random.pick(ports).name]: 1024 + random.whole(3) } })),
    ...yes(random, 0.2, () => ({ weight: 1 + random.whole(5) })),
    ...yes(random, 0.2, () => ({ network: "net1" })),
    ...yes(random, 0.3, () => ({ serviceAccount: random.pick(apps) })),
  };
}

export const workloadEntry = (random: Random, name: string, namespace: string): KubeObject =>
  object(networking, "WorkloadEntry", name, namespace, { spec: workload(random, false) });

/** Read by nothing that is rendered: its coming and going must show nowhere. */
export const workloadGroup = (random: Random, name: string, namespace: string): KubeObject =>
  object(networking, "WorkloadGroup", name, namespace, {
    spec: { metadata: { labels: labels(random) }, template: { serviceAccount: random.pick(apps) } },
  });

export function sidecar(random: Random, name: string, namespace: string): KubeObject {
  const selects = name !== "default";
  return object(networking, "Sidecar", name, namespace, {
    spec: {
      ...(selects ? { workloadSelector: { labels: labels(random) } } : {}),
      ...yes(random, 0.85, () => ({ egress: times(random, 1, 2, (index) => egress(random, index === 0)) })),
      ...yes(random, 0.25, () => ({ ingress: [ingressListener(random)] })),
      ...yes(random, 0.3, () => ({
        outboundTrafficPolicy: {
          mode: random.pick(["REGISTRY_ONLY", "ALLOW_ANY"]),
          ...yes(random, 0.2, () => ({ egressProxy: { host: serviceHost("a", "red"), port: { number: 80 } } })),
        },
      })),
      ...yes(random, 0.1, () => ({
        inboundConnectionPool: { http: { http1MaxPendingRequests: 1 + random.whole(9) } },
      })),
    },
  });
}

function egress(random: Random, first: boolean): Spec {
  const port = random.pick(ports);
  return {
    hosts: some(
      random,
      [
        "*/*",
        "./*",
        "red/*",
        "~/*",
        "istio-system/*",
        `*/${serviceHost("a", "red")}`,
        "green/*.local",
        "*/*.example.com",
        `./${serviceHost("b", "red")}`,
      ],
      1,
      3,
    ),
    ...(first
      ? yes(random, 0.3, () => ({
          port: { number: port.port, protocol: port.protocol || "HTTP", name: port.name },
          ...yes(random, 0.4, () => ({ bind: random.pick(["127.0.0.1", "0.0.0.0", "unix:///tmp/x"]) })),
          ...yes(random, 0.3, () => ({ captureMode: random.pick(["NONE", "IPTABLES"]) })),
        }))
      : {}),
  };
}

function ingressListener(random: Random): Spec {
  const port = random.pick(ports);
  return {
    port: { number: port.port, protocol: port.protocol || "TCP", name: port.name },
    defaultEndpoint: random.pick(["127.0.0.1:8080", "0.0.0.0:9090", "unix:///tmp/in"]),
    ...yes(random, 0.2, () => ({ bind: "0.0.0.0" })),
    ...yes(random, 0.2, () => ({ tls: { mode: "SIMPLE", serverCertificate: "/c", privateKey: "/k" } })),
  };
}

export function gateway(random: Random, name: string, namespace: string): KubeObject {
  return object(networking, "Gateway", name, namespace, {
    spec: {
      selector: random.pick([
        { istio: "ingress" },
        { istio: "ingress" },
        { istio: "other" },
        { app: random.pick(apps) },
        {},
      ]),
      servers: times(random, 1, 3, () => server(random)),
    },
  });
}

function server(random: Random): Spec {
  const protocol = random.pick(["HTTP", "HTTP", "HTTPS", "TLS", "TCP", "GRPC"]);
  const secure = protocol === "HTTPS" || protocol === "TLS";
  const number = random.pick(secure ? [443, 8443] : [80, 8080, 9000]);
  const hosts = some(random, gatewayHosts, 1, 2).map((one) =>
    random.pick([one, one, `./${one}`, `red/${one}`, `*/${one}`]),
  );
  return {
    port: { number, name: `${protocol.toLowerCase()}-${number}`, protocol },
    hosts,
    ...yes(random, 0.1, () => ({ bind: "0.0.0.0" })),
    ...(secure
      ? {
          tls: random.pick([
            { mode: "SIMPLE", credentialName: "cert1" },
            { mode: "MUTUAL", credentialName: "cert2" },
            { mode: "PASSTHROUGH" },
            { mode: "AUTO_PASSTHROUGH" },
            { mode: "ISTIO_MUTUAL" },
            { mode: "SIMPLE", serverCertificate: "/c", privateKey: "/k" },
          ]),
        }
      : yes(random, 0.2, () => ({ tls: { httpsRedirect: true } }))),
  };
}

export function envoyFilter(random: Random, name: string, namespace: string): KubeObject {
  return object(networking, "EnvoyFilter", name, namespace, {
    spec: {
      ...random.pick<() => Spec>([
        () => ({}),
        () => ({ workloadSelector: { labels: labels(random) } }),
        () => ({ workloadSelector: { labels: labels(random) } }),
        () => ({ targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "kgw1" }] }),
      ])(),
      ...yes(random, 0.3, () => ({ priority: random.whole(5) - 2 })),
      configPatches: times(random, 1, 2, () => patch(random)),
    },
  });
}

function patch(random: Random): Spec {
  const context = random.pick(["ANY", "SIDECAR_INBOUND", "SIDECAR_OUTBOUND", "GATEWAY"]);
  const proxy = yes(random, 0.2, () => ({
    proxy: random.pick([{ proxyVersion: "^1\\.28.*" }, { metadata: { GENERATOR: random.pick(["x", "y"]) } }]),
  }));
  const lua = {
    name: "envoy.filters.http.lua",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
      inlineCode: `-- ${random.whole(5)}`,
    },
  };
  const router = {
    listener: {
      filterChain: {
        filter: {
          name: "envoy.filters.network.http_connection_manager",
          subFilter: { name: "envoy.filters.http.router" },
        },
      },
    },
  };
  return random.pick<() => Spec>([
    () => ({
      applyTo: "HTTP_FILTER",
      match: { context, ...proxy, ...router },
      patch: { operation: "INSERT_BEFORE", value: lua },
    }),
    () => ({
      applyTo: "CLUSTER",
      match: {
        context,
        ...proxy,
        ...yes(random, 0.5, () => ({ cluster: { service: serviceHost(random.pick(apps), random.pick(namespaces)) } })),
      },
      patch: { operation: "MERGE", value: { connect_timeout: seconds(random) } },
    }),
    () => ({
      applyTo: "CLUSTER",
      match: { context },
      patch: { operation: "ADD", value: { name: `added-${random.whole(3)}`, type: "STATIC", connect_timeout: "1s" } },
    }),
    () => ({
      applyTo: "CLUSTER",
      match: { context, cluster: { portNumber: random.pick(ports).port } },
      patch: { operation: "REMOVE" },
    }),
    () => ({
      applyTo: "CLUSTER",
      match: { context },
      patch: {
        operation: "MERGE",
        value: { metadata: { filter_metadata: { x: { b: "1", a: { d: 2, c: 3 } }, w: {} } } },
      },
    }),
    () => ({
      applyTo: "LISTENER",
      match: { context, ...yes(random, 0.5, () => ({ listener: { portNumber: random.pick(ports).port } })) },
      patch: { operation: "MERGE", value: { per_connection_buffer_limit_bytes: 1000 + random.whole(5) } },
    }),
    () => ({
      applyTo: "VIRTUAL_HOST",
      match: {
        context,
        ...yes(random, 0.5, () => ({ routeConfiguration: { vhost: { name: `${serviceHost("a", "red")}:80` } } })),
      },
      patch: { operation: "MERGE", value: { request_headers_to_remove: [`x-${random.whole(3)}`] } },
    }),
    () => ({
      applyTo: "VIRTUAL_HOST",
      match: { context, ...yes(random, 0.5, () => ({ routeConfiguration: { name: "80" } })) },
      patch: {
        operation: "ADD",
        value: { name: `added/${random.whole(2)}`, domains: [`added-${random.whole(2)}.example.com`] },
      },
    }),
    () => ({
      applyTo: "VIRTUAL_HOST",
      match: { context, routeConfiguration: { vhost: { name: `${serviceHost("b", "red")}:80` } } },
      patch: { operation: "REMOVE" },
    }),
    () => ({
      applyTo: "HTTP_ROUTE",
      match: {
        context,
        ...yes(random, 0.5, () => ({ routeConfiguration: { vhost: { route: { action: "ROUTE" } } } })),
      },
      patch: { operation: "MERGE", value: { request_headers_to_remove: [`y-${random.whole(3)}`] } },
    }),
    () => ({
      applyTo: "FILTER_CHAIN",
      match: { context, listener: { filterChain: { transportProtocol: random.pick(["tls", "raw_buffer"]) } } },
      patch: { operation: "MERGE", value: { transport_socket_connect_timeout: seconds(random) } },
    }),
    () => ({
      applyTo: "LISTENER",
      match: { context, listener: { portNumber: random.pick(ports).port } },
      patch: { operation: "REMOVE" },
    }),
    () => ({
      applyTo: "EXTENSION_CONFIG",
      match: { context: "ANY" },
      patch: { operation: "ADD", value: { ...lua, name: `ext-${random.whole(2)}` } },
    }),
    () => ({
      applyTo: "ROUTE_CONFIGURATION",
      match: { context },
      patch: { operation: "MERGE", value: { most_specific_header_mutations_wins: true } },
    }),
    () => ({
      applyTo: "NETWORK_FILTER",
      match: { context, listener: { filterChain: { filter: { name: "envoy.filters.network.tcp_proxy" } } } },
      patch: {
        operation: "MERGE",
        value: {
          name: "envoy.filters.network.tcp_proxy",
          typed_config: {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
            idle_timeout: seconds(random),
          },
        },
      },
    }),
  ])();
}
