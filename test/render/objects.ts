/** Short words for the Kubernetes and Istio objects that tests are made of. */
import type { KubeObject } from "../../src/model/index.ts";

const namespace = "default";

interface PodOptions {
  readonly address?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** `sidecar` and `router` pods are proxies. */
  readonly proxy?: "sidecar" | "router";
  /** Without it the pod is not part of the mesh. */
  readonly mesh?: boolean;
  readonly node?: string;
}

export function pod(name: string, options: PodOptions = {}): KubeObject {
  const { address = "10.0.0.1", labels = {}, proxy, mesh = true, node } = options;
  const proxyContainer = proxy ? [{ name: "istio-proxy", args: ["proxy", proxy] }] : [];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: { app: name, ...(mesh ? { "security.istio.io/tlsMode": "istio" } : {}), ...labels },
    },
    spec: { serviceAccountName: name, nodeName: node, containers: [...proxyContainer, { name: "app" }] },
    status: {
      phase: "Running",
      podIP: address,
      podIPs: [{ ip: address }],
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

interface ServiceOptions {
  readonly port?: number;
  readonly portName?: string;
  readonly targetPort?: number;
  readonly selector?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

export function service(name: string, options: ServiceOptions = {}): KubeObject {
  const { port = 80, portName = "http", targetPort = 8080, selector = name, labels = {}, spec = {} } = options;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, labels },
    spec: {
      clusterIP: "10.96.0.1",
      selector: { app: selector },
      ports: [{ name: portName, port, targetPort, protocol: "TCP" }],
      ...spec,
    },
  };
}

export interface SliceEndpoint {
  readonly address: string;
  readonly pod?: string;
  readonly ready?: boolean;
  readonly terminating?: boolean;
}

export function slice(name: string, endpoints: readonly SliceEndpoint[], port = 8080, portName = "http"): KubeObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: `${name}-1`, namespace, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ name: portName, port, protocol: "TCP" }],
    endpoints: endpoints.map(({ address, pod: target, ready = true, terminating = false }) => ({
      addresses: [address],
      conditions: { ready, serving: ready, terminating },
      ...(target ? { targetRef: { kind: "Pod", name: target, namespace } } : {}),
    })),
  };
}

export function node(name: string, region: string, zone: string): KubeObject {
  const labels = { "topology.kubernetes.io/region": region, "topology.kubernetes.io/zone": zone };
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels } };
}

const groups: ReadonlyMap<string, string> = new Map([
  ["PeerAuthentication", "security"],
  ["AuthorizationPolicy", "security"],
  ["Telemetry", "telemetry"],
]);

export function istio(kind: string, name: string, spec: Readonly<Record<string, unknown>>): KubeObject {
  const group = groups.get(kind) ?? "networking";
  return { apiVersion: `${group}.istio.io/v1`, kind, metadata: { name, namespace }, spec };
}

/** A client with a sidecar, and one service with one pod of the mesh. */
export function smallMesh(portName = "http", proxy: "sidecar" | "router" = "sidecar"): readonly KubeObject[] {
  return [
    pod("client", { proxy, address: "10.0.0.9" }),
    service("web", { portName }),
    pod("web", { address: "10.0.0.1" }),
    slice("web", [{ address: "10.0.0.1", pod: "web" }], 8080, portName),
  ];
}
