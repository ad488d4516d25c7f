/** A seed's choices in; Kubernetes' own objects out: namespaces, nodes, pods, services, slices, secrets, ingresses. */
import type { KubeObject } from "../../../src/model/index.ts";
import type { Random } from "../../random.ts";
import {
  address,
  apps,
  object,
  ports,
  type Spec,
  serviceHost,
  some,
  times,
  userNamespaces,
  versions,
  yes,
  zones,
} from "../words.ts";

export const nodeNames = ["n1", "n2", "n3"] as const;

export function namespaceObject(random: Random, name: string): KubeObject {
  const labels = {
    ...yes(random, 0.7, () => ({ "istio-injection": "enabled" })),
    ...yes(random, 0.3, () => ({ team: random.pick(["x", "y"]) })),
    ...yes(random, 0.1, () => ({ "topology.istio.io/network": random.pick(["net1", "net2"]) })),
    "kubernetes.io/metadata.name": name,
  };
  return object("v1", "Namespace", name, undefined, { metadata: { labels } });
}

export function node(random: Random, name: string): KubeObject {
  const [region, zone] = random.pick(zones);
  return object("v1", "Node", name, undefined, {
    metadata: {
      labels: {
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": zone,
        ...yes(random, 0.2, () => ({ "topology.istio.io/subzone": "s" })),
      },
    },
    status: { addresses: [{ type: "InternalIP", address: `192.168.0.${1 + random.whole(9)}` }] },
  });
}

export function pod(random: Random, name: string, namespace: string): KubeObject {
  const app = random.pick(apps);
  const ip = random.chance(0.1) ? "fd00::7" : address(random);
  const ips = random.chance(0.1) ? [ip, ip === "fd00::7" ? address(random) : "fd00::8"] : [ip];
  return object("v1", "Pod", name, namespace, {
    metadata: {
      labels: {
        app,
        version: random.pick(versions),
        ...yes(random, 0.8, () => ({ "security.istio.io/tlsMode": "istio" })),
        ...yes(random, 0.2, () => ({ "topology.istio.io/network": random.pick(["net1", "net2"]) })),
        ...yes(random, 0.2, () => ({ tier: random.pick(["x", "y"]) })),
      },
      annotations: yes(random, 0.15, () => ({
        "proxy.istio.io/config": JSON.stringify({ concurrency: 1 + random.whole(3), drainDuration: "7s" }),
      })),
    },
    spec: {
      serviceAccountName: random.pick(["default", app]),
      nodeName: random.pick(nodeNames),
      containers: [
        { name: "app", ports: [{ name: "web", containerPort: 8080 }] },
        ...(random.chance(0.5) ? [{ name: "istio-proxy", args: ["proxy", "sidecar"] }] : []),
      ],
    },
    status: {
      phase: "Running",
      podIP: ip,
      podIPs: ips.map((one) => ({ ip: one })),
      conditions: [{ type: "Ready", status: random.chance(0.9) ? "True" : "False" }],
    },
  });
}

/** What makes a Service reachable: cluster addresses of one family or two, none, or another name. */
const serviceShapes = [
  "ip",
  "ip",
  "ip",
  "ip",
  "headless",
  "headless two",
  "external",
  "ipv6",
  "two",
  "two, IPv6 first",
] as const;

type ServiceShape = (typeof serviceShapes)[number];

export function service(random: Random, name: string, namespace: string): KubeObject {
  const shape = random.pick(serviceShapes);
  const external = shape === "external";
  return object("v1", "Service", name, namespace, {
    metadata: {
      labels: yes(random, 0.2, () => ({ team: random.pick(["x", "y"]) })),
      annotations: {
        ...yes(random, 0.15, () => ({
          "networking.istio.io/exportTo": random.pick([".", "*", "red", "~", "green,blue"]),
        })),
        ...yes(random, 0.1, () => ({
          "networking.istio.io/traffic-distribution": random.pick(["PreferClose", "Any"]),
        })),
      },
    },
    spec: {
      ...clusterAddresses(random, shape),
      ...(external
        ? {
            type: "ExternalName",
            externalName: random.pick(["www.other.org", serviceHost(random.pick(apps), random.pick(userNamespaces))]),
          }
        : {
            selector: { app: random.chance(0.8) ? name : random.pick(apps) },
            ...yes(random, 0.2, () => ({ type: random.pick(["NodePort", "LoadBalancer"]) })),
          }),
      ...yes(random, 0.1, () => ({ internalTrafficPolicy: "Local" })),
      ...yes(random, 0.1, () => ({ publishNotReadyAddresses: true })),
      ...yes(random, 0.1, () => ({ externalIPs: ["172.16.0.1"] })),
      ...yes(random, 0.1, () => ({ trafficDistribution: random.pick(["PreferClose", "PreferSameNode"]) })),
      ports: distinctPorts(random).map(({ name: portName, port, protocol }, index) => ({
        name: portName,
        port,
        protocol,
        targetPort: random.pick([8080, port, "web"]),
        ...yes(random, 0.2, () => ({ appProtocol: random.pick(appProtocols) })),
        ...yes(random, 0.1, () => ({ nodePort: 30000 + index })),
      })),
    },
    ...yes(random, 0.2, () => ({ status: { loadBalancer: { ingress: [{ ip: "203.0.113.5" }] } } })),
  });
}

/** The first of several is the one that old clients read. */
function clusterAddresses(random: Random, shape: ServiceShape): Spec {
  const v4 = `10.96.${random.whole(2)}.${1 + random.whole(6)}`;
  const v6 = `fd00::96:${1 + random.whole(6)}`;
  switch (shape) {
    case "external":
      return {};
    case "headless":
      return { clusterIP: "None", clusterIPs: ["None"] };
    case "headless two":
      return { clusterIP: "None", clusterIPs: ["None"], ipFamilies: ["IPv4", "IPv6"] };
    case "ipv6":
      return { clusterIP: v6, clusterIPs: [v6], ipFamilies: ["IPv6"] };
    case "two":
      return { clusterIP: v4, clusterIPs: [v4, v6], ipFamilies: ["IPv4", "IPv6"] };
    case "two, IPv6 first":
      return { clusterIP: v6, clusterIPs: [v6, v4], ipFamilies: ["IPv6", "IPv4"] };
    case "ip":
      return { clusterIP: v4 };
  }
}

/** Of Kubernetes, of Istio, and one that says nothing to either. */
const appProtocols = [
  ...["http", "http2", "https", "grpc", "grpc-web", "tcp", "tls", "mysql", "mongo", "redis", "udp"],
  ...["kubernetes.io/h2c", "kubernetes.io/ws", "kubernetes.io/wss", "example.com/own", "HTTP", ""],
];

interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: "TCP" | "UDP";
}

const udpChance = 0.15;
const bothChance = 0.15;

/** One port per number and transport, as the API would have it. */
function distinctPorts(random: Random): readonly ServicePort[] {
  const chosen = some(random, ports, 1, 3);
  const distinct = chosen.filter(({ port }, index) => chosen.findIndex((other) => other.port === port) === index);
  return distinct.flatMap(({ name, port }): readonly ServicePort[] => {
    const plain: ServicePort = { name, port, protocol: random.chance(udpChance) ? "UDP" : "TCP" };
    if (!random.chance(bothChance)) return [plain];
    const other: ServicePort = { name: `${name}-2`, port, protocol: plain.protocol === "TCP" ? "UDP" : "TCP" };
    return random.chance(0.5) ? [plain, other] : [other, plain];
  });
}

const sliceFamilies = ["IPv4", "IPv4", "IPv4", "IPv4", "IPv4", "IPv6", "IPv6", "FQDN"] as const;

const sliceAddresses: Readonly<Record<(typeof sliceFamilies)[number], (random: Random) => string>> = {
  IPv4: address,
  // The first is that of Pods and of proxies, too.
  IPv6: (random) => random.pick(["fd00::7", "fd00::8", "fd00::a:1", "fd00::a:2"]),
  FQDN: (random) => random.pick(["www.other.org", "vm.internal"]),
};

export function slice(random: Random, name: string, namespace: string): KubeObject {
  const of = name.slice(0, name.lastIndexOf("-"));
  const addressType = random.pick(sliceFamilies);
  return object("discovery.k8s.io/v1", "EndpointSlice", name, namespace, {
    metadata: { labels: { "kubernetes.io/service-name": of } },
    addressType,
    ports: some(random, ports, 1, 4).flatMap((port) => {
      const protocol = random.chance(udpChance) ? "UDP" : "TCP";
      const made = { name: port.name, port: random.pick([8080, port.port]), protocol };
      const other = { ...made, name: `${port.name}-2`, protocol: protocol === "TCP" ? "UDP" : "TCP" };
      return random.chance(bothChance) ? [made, other] : [made];
    }),
    endpoints: times(random, 0, 4, () => ({
      addresses: [sliceAddresses[addressType](random)],
      conditions: { ready: random.chance(0.85), ...yes(random, 0.2, () => ({ serving: true, terminating: true })) },
      ...yes(random, 0.6, () => ({
        targetRef: { kind: "Pod", name: `p${random.whole(6)}`, namespace },
      })),
      ...yes(random, 0.4, () => ({ nodeName: random.pick(nodeNames), zone: random.pick(zones)[1] })),
      ...yes(random, 0.1, () => ({ hints: { forZones: [{ name: "z1" }] } })),
    })),
  });
}

export function secret(random: Random, name: string, namespace: string): KubeObject {
  const text = (value: string): string => Buffer.from(value).toString("base64");
  const certificate = `-----BEGIN CERTIFICATE-----\nTUlJ${random.whole(9)}\n-----END CERTIFICATE-----\n`;
  const key = `-----BEGIN PRIVATE KEY-----\nTUlJ${random.whole(9)}\n-----END PRIVATE KEY-----\n`;
  if (random.chance(0.2))
    return object("v1", "Secret", name, namespace, {
      type: "Opaque",
      data: { cert: text(certificate), key: text(key), ...yes(random, 0.4, () => ({ cacert: text(certificate) })) },
    });
  return object("v1", "Secret", name, namespace, {
    type: "kubernetes.io/tls",
    data: {
      "tls.crt": text(certificate),
      "tls.key": text(key),
      ...yes(random, 0.4, () => ({ "ca.crt": text(certificate) })),
    },
  });
}

export function configMap(random: Random, name: string, namespace: string): KubeObject {
  const certificate = `-----BEGIN CERTIFICATE-----\nTUlJ${random.whole(9)}\n-----END CERTIFICATE-----\n`;
  return object("v1", "ConfigMap", name, namespace, { data: { "ca.crt": certificate } });
}

export function ingress(random: Random, name: string, namespace: string): KubeObject {
  const backend = () => ({
    service: { name: random.pick(apps), port: random.pick([{ number: 80 }, { name: "http" }, { number: 8080 }]) },
  });
  return object("networking.k8s.io/v1", "Ingress", name, namespace, {
    metadata: {
      annotations: yes(random, 0.2, () => ({ "kubernetes.io/ingress.class": random.pick(["istio", "other"]) })),
    },
    spec: {
      ...yes(random, 0.8, () => ({ ingressClassName: random.pick(["istio", "other"]) })),
      ...yes(random, 0.3, () => ({ defaultBackend: backend() })),
      ...yes(random, 0.4, () => ({
        tls: [{ hosts: ["shop.example.com"], secretName: random.pick(["cert1", "cert2"]) }],
      })),
      rules: times(random, 0, 2, () => ({
        ...yes(random, 0.8, () => ({ host: random.pick(["shop.example.com", "api.example.com", "*.example.com"]) })),
        http: {
          paths: times(random, 1, 2, () => ({
            path: random.pick(["/", "/x", "/y"]),
            pathType: random.pick(["Prefix", "Exact", "ImplementationSpecific"]),
            backend: backend(),
          })),
        },
      })),
    },
  });
}

export function ingressClass(random: Random, name: string): KubeObject {
  return object("networking.k8s.io/v1", "IngressClass", name, undefined, {
    metadata: { annotations: yes(random, 0.3, () => ({ "ingressclass.kubernetes.io/is-default-class": "true" })) },
    spec: { controller: random.pick(["istio.io/ingress-controller", "other.io/controller"]) },
  });
}
