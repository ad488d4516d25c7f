/** The changes that are measured: what is written, and by what proxies are seen to have it. */
import type { KubeObject } from "../../src/model/index.ts";
import { destinationRule, networking, type ScenarioSize, slice, virtualService } from "./scenario.ts";

export interface Change {
  readonly name: string;
  readonly apply?: readonly KubeObject[];
  readonly remove?: readonly KubeObject[];
  /** In what every concerned proxy is sent, and in nothing before; undefined where nothing is sent by which it shows. */
  readonly needle: string | undefined;
  /** Whom it concerns. */
  readonly reaches: "all" | "ns-0";
  /** Only to come back to where it began: not in the table. */
  readonly silent?: true;
}

export interface ChangeContext {
  readonly size: ScenarioSize;
  readonly mode: "delta" | "sotw";
  /** Different for each run on one API. */
  readonly run: string;
}

const burst = 50;

export function changes({ size, mode, run }: ChangeContext): readonly Change[] {
  const route = `x-bench-route-${run}`;
  const one = addedService(run);
  const sidecar = sidecarOf();
  const last = Math.min(burst, size.routed) - 1;
  return [
    { name: "one VirtualService", apply: [virtualService(0, size, route)], needle: route, reaches: "all" },
    ...[3, 4, 5].map(
      (end): Change => ({
        name: "one endpoint",
        apply: [slice(1, size, [`10.250.${Number(run) % 200}.${end}`])],
        needle: `10.250.${Number(run) % 200}.${end}`,
        reaches: "all",
      }),
    ),
    { name: "one Service added", apply: one, needle: `bench-${run}.ns-0`, reaches: "all" },
    {
      name: "one Service removed",
      remove: one,
      // A whole set says nothing of what has gone from it.
      needle: mode === "delta" ? `bench-${run}.ns-0` : undefined,
      reaches: "all",
    },
    {
      name: `${last + 1} VirtualServices`,
      apply: Array.from({ length: last + 1 }, (_, index) =>
        virtualService(index, size, `x-bench-burst-${run}-${index}`),
      ),
      needle: `x-bench-burst-${run}-${last}`,
      reaches: "all",
    },
    {
      name: "one DestinationRule",
      apply: [destinationRule(0, size, `bench-${run}.example.com`)],
      needle: `bench-${run}.example.com`,
      reaches: "all",
    },
    { name: "a namespace's Sidecar", apply: [sidecar], needle: `127.0.0.1_${sidecarPort}`, reaches: "ns-0" },
    { name: "the Sidecar goes", remove: [sidecar], needle: undefined, reaches: "ns-0", silent: true },
    {
      name: "MeshConfig",
      apply: [meshConfig({ accessLogFile: "/dev/stdout", accessLogFormat: `bench-log-${run} %START_TIME%\n` })],
      needle: `bench-log-${run}`,
      reaches: "all",
    },
    {
      name: "everything as before",
      apply: [
        meshConfig({}),
        slice(1, size),
        destinationRule(0, size),
        ...Array.from({ length: last + 1 }, (_, index) => virtualService(index, size)),
      ],
      needle: undefined,
      reaches: "all",
      silent: true,
    },
  ];
}

/** A port that services have: only those are found on a listener with a port. */
const sidecarPort = 80;

const sidecarOf = (): KubeObject => ({
  apiVersion: networking,
  kind: "Sidecar",
  metadata: { name: "default", namespace: "ns-0" },
  spec: {
    egress: [
      {
        port: { number: sidecarPort, protocol: "HTTP", name: "bench" },
        bind: "127.0.0.1",
        hosts: ["./*"],
      },
      { hosts: ["./*", "istio-system/*"] },
    ],
  },
});

function addedService(run: string): readonly KubeObject[] {
  const name = `bench-${run}`;
  const namespace = "ns-0";
  return [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace, labels: { app: name } },
      spec: { clusterIP: "10.96.99.1", ports: [{ name: "http", port: 80, targetPort: 8080 }] },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: `${name}-a`, namespace, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
      endpoints: [{ addresses: ["10.251.0.1"], conditions: { ready: true } }],
    },
  ];
}

/** All that comes to be in the scenario's namespaces; the last is what control planes write there. */
export const changedKinds: readonly Pick<KubeObject, "apiVersion" | "kind">[] = [
  { apiVersion: "v1", kind: "Service" },
  { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
  { apiVersion: networking, kind: "VirtualService" },
  { apiVersion: networking, kind: "DestinationRule" },
  { apiVersion: networking, kind: "Sidecar" },
  { apiVersion: "v1", kind: "ConfigMap" },
];

export const meshConfig = (mesh: Readonly<Record<string, unknown>>): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "istio", namespace: "istio-system" },
  data: { mesh: JSON.stringify(mesh) },
});
