/** Sizes in; a mesh as Kubernetes and Istio objects out: the same as scale_scenario.py writes, so that figures compare. */
import type { KubeObject } from "../../src/model/index.ts";

export interface ScenarioSize {
  readonly services: number;
  readonly endpoints: number;
  readonly namespaces: number;
  /** How many of the services have a VirtualService and a DestinationRule. */
  readonly routed: number;
  /** Leaves out the names of ports: what is spoken there is found out by sniffing, and each service has routes of its own. */
  readonly unnamed?: boolean;
}

export const networking = "networking.istio.io/v1";

export const serviceName = (index: number): string => `svc-${index}`;

export const namespaceOf = (index: number, { namespaces }: Pick<ScenarioSize, "namespaces">): string =>
  `ns-${index % namespaces}`;

export const hostOf = (index: number, size: Pick<ScenarioSize, "namespaces">): string =>
  `${serviceName(index)}.${namespaceOf(index, size)}.svc.cluster.local`;

export function scenario(size: ScenarioSize): readonly KubeObject[] {
  const namespaces = Array.from({ length: size.namespaces }, (_, index) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: `ns-${index}`, labels: { "istio-injection": "enabled" } },
  }));
  const services = Array.from({ length: size.services }, (_, index) => [
    service(index, size),
    slice(index, size),
    ...(index < size.routed ? [virtualService(index, size), destinationRule(index, size)] : []),
  ]);
  return [...namespaces, ...services.flat()];
}

const metadata = (index: number, size: ScenarioSize) => ({
  name: serviceName(index),
  namespace: namespaceOf(index, size),
});

const portName = ({ unnamed }: ScenarioSize) => (unnamed ? {} : { name: "http" });

function service(index: number, size: ScenarioSize): KubeObject {
  const app = serviceName(index);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...metadata(index, size), labels: { app } },
    spec: {
      clusterIP: `10.96.${10 + Math.floor(index / 250)}.${(index % 250) + 1}`,
      selector: { app },
      ports: [{ ...portName(size), port: 80, targetPort: 8080 }],
    },
  };
}

/** `further` addresses are added to those of the scenario. */
export function slice(index: number, size: ScenarioSize, further: readonly string[] = []): KubeObject {
  const own = Array.from({ length: size.endpoints }, (_, endpoint) => addressOf(index * size.endpoints + endpoint));
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `${serviceName(index)}-a`,
      namespace: namespaceOf(index, size),
      labels: { "kubernetes.io/service-name": serviceName(index) },
    },
    addressType: "IPv4",
    ports: [{ ...portName(size), port: 8080, protocol: "TCP" }],
    endpoints: [...own, ...further].map((address) => ({ addresses: [address], conditions: { ready: true } })),
  };
}

const addressOf = (count: number): string =>
  `10.${100 + Math.floor(count / 65536)}.${Math.floor(count / 256) % 256}.${count % 256}`;

/** `header` is added to requests, as something that can be found in what proxies are sent. */
export function virtualService(index: number, size: ScenarioSize, header?: string): KubeObject {
  const host = hostOf(index, size);
  const to = (subset: string, weight: number) => ({ destination: { host, subset }, weight });
  return {
    apiVersion: networking,
    kind: "VirtualService",
    metadata: metadata(index, size),
    spec: {
      hosts: [host],
      http: [
        {
          timeout: "5s",
          retries: { attempts: 3, perTryTimeout: "2s" },
          route: [to("v1", 90), to("v2", 10)],
          ...(header === undefined ? {} : { headers: { request: { add: { [header]: "1" } } } }),
        },
      ],
    },
  };
}

/** `sni` is found in what proxies are sent, too. */
export function destinationRule(index: number, size: ScenarioSize, sni?: string): KubeObject {
  return {
    apiVersion: networking,
    kind: "DestinationRule",
    metadata: metadata(index, size),
    spec: {
      host: hostOf(index, size),
      trafficPolicy: {
        connectionPool: { http: { http2MaxRequests: 1000 } },
        ...(sni === undefined ? {} : { tls: { mode: "SIMPLE", sni } }),
      },
      subsets: [
        { name: "v1", labels: { version: "v1" } },
        { name: "v2", labels: { version: "v2" } },
      ],
    },
  };
}
