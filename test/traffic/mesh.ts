/**
 * A mesh for tests of traffic. Real: Envoys (stock), network namespaces, iptables capture, the agent's bootstrap, SDS,
 * and the control plane from objects to ADS. Played by the test: the API (objects in memory), the CA, and the servers.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { wait } from "../../src/lib/index.ts";
import { type KubeObject, objectKey, type ProxyType } from "../../src/model/index.ts";
import { pod, service, slice } from "../render/objects.ts";
import { unlessStopped } from "../stop.ts";
import { type Backend, httpPort, startBackend, tcpPort, tlsPort } from "./backend.ts";
import { createCa, type ServerIdentity } from "./ca.ts";
import { type ControlPlane, type ControlPlaneOptions, createControlPlane } from "./control-plane.ts";
import { createTrafficNetwork } from "./network.ts";
import { startProxy, type TrafficProxy } from "./proxy.ts";

export interface TrafficMesh {
  readonly controlPlane: ControlPlane;
  readonly ca: string;
  /** Resolves when all proxies have it. */
  apply(...objects: readonly KubeObject[]): Promise<void>;
  remove(...objects: readonly KubeObject[]): Promise<void>;
  serviceAddress(): string;
  hostAddress(): Promise<string>;
  certificate(...names: readonly string[]): Promise<ServerIdentity>;
  /** Starts a server with a Pod that has no sidecar; `node` gives it a place. */
  backend(name: string, options?: PlaceOptions): Promise<Backend>;
  proxy(type: ProxyType, name: string, options?: PlaceOptions & { readonly sotw?: boolean }): Promise<TrafficProxy>;
  /** All proxies lose their control plane; what is applied meanwhile is only written down. */
  stopControlPlane(): Promise<void>;
  /** A new one, with all that was applied. */
  startControlPlane(): Promise<void>;
  close(): Promise<void>;
}

export interface PlaceOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly node?: string;
  /** Whether its label says that it is of the mesh. */
  readonly mesh?: boolean;
}

export async function startTrafficMesh(options: ControlPlaneOptions = {}): Promise<TrafficMesh> {
  const dir = mkdtempSync(join(tmpdir(), "fl-traffic-"));
  const network = await createTrafficNetwork();
  const ca = await createCa();
  const objects = new Map<string, KubeObject>();
  const backends: Backend[] = [];
  const proxies: TrafficProxy[] = [];
  let controlPlane = createControlPlane([], options);
  let running = true;
  const keyOf = (object: KubeObject): string => `${object.kind} ${objectKey(object.metadata)}`;
  const mesh: TrafficMesh = {
    get controlPlane() {
      return controlPlane;
    },
    ca: ca.roots,
    async apply(...changed) {
      for (const object of changed) objects.set(keyOf(object), object);
      if (!running) return;
      controlPlane.apply(changed);
      await controlPlane.settled();
    },
    async remove(...gone) {
      for (const object of gone) objects.delete(keyOf(object));
      if (!running) return;
      controlPlane.remove(gone);
      await controlPlane.settled();
    },
    serviceAddress: network.serviceAddress,
    hostAddress: network.hostAddress,
    certificate: (...names) => ca.server(names),
    async backend(name, options = {}) {
      const address = await network.hostAddress();
      const backend = await startBackend(name, address, await ca.server([`${name}.example`]));
      backends.push(backend);
      await mesh.apply(pod(name, { address, mesh: false, ...options }));
      return backend;
    },
    async proxy(type, name, { sotw = false, ...options } = {}) {
      const pods = await network.pod();
      const own = pod(name, { address: pods.address, proxy: type, mesh: type === "sidecar", ...options });
      await mesh.apply(own);
      const secrets = await ca.workload(name);
      const routes = controlPlane.routes(name);
      const proxy = await startProxy({ dir, network, type, pod: own, pods, routes, secrets, sotw });
      proxies.push(proxy);
      return proxy;
    },
    async stopControlPlane() {
      running = false;
      await checkCompared(controlPlane, proxies);
      await Promise.all(proxies.map((proxy) => proxy.connect(undefined)));
      await controlPlane.close();
    },
    async startControlPlane() {
      controlPlane = createControlPlane(objects.values(), options);
      running = true;
      await Promise.all(proxies.map((proxy) => proxy.connect(controlPlane.routes(proxy.name))));
      await eventually(() => controlPlane.ads.status().length === proxies.length, "proxies to come back");
      await controlPlane.settled();
    },
    async close() {
      if (running) await checkCompared(controlPlane, proxies);
      await controlPlane.close();
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await Promise.all(backends.map((backend) => backend.close()));
      await network.remove();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  return mesh;
}

/** No test of this suite is to pass whose mesh was never compared with a fresh start. */
async function checkCompared(controlPlane: ControlPlane, proxies: readonly TrafficProxy[]): Promise<void> {
  if ((await controlPlane.look()) === 0 && proxies.length > 0)
    throw new Error("what proxies have was never compared with a fresh start");
}

/** A mesh for as long as `play` takes, or until the stop: it is cleaned up under it then. */
export async function onTrafficMesh<T>(
  stop: AbortSignal | undefined,
  play: (mesh: TrafficMesh) => Promise<T>,
): Promise<T> {
  const mesh = await startTrafficMesh();
  try {
    return await unlessStopped(play(mesh), stop);
  } finally {
    await mesh.close();
  }
}

/** Polls what cannot be awaited: Envoy's own decisions. */
export async function eventually(
  check: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 120_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await wait(20);
  }
}

export interface ServiceSpec {
  readonly address: string;
  readonly backends: readonly Backend[];
  /** `http`, `tcp`, `tls`, or a name that says nothing: sniffed. */
  readonly portName?: string;
  readonly port?: number;
  readonly targetPort?: number;
}

const targets: Readonly<Record<string, number>> = { http: httpPort, tcp: tcpPort, tls: tlsPort };

/** A Service with an EndpointSlice of those servers. */
export function serviceOf(name: string, spec: ServiceSpec): readonly KubeObject[] {
  const { address, backends, portName = "http", port = 80, targetPort = targets[portName] ?? httpPort } = spec;
  return [
    service(name, { port, portName, targetPort, spec: { clusterIP: address } }),
    slice(
      name,
      backends.map((backend) => ({ address: backend.address, pod: backend.name })),
      targetPort,
      portName,
    ),
  ];
}

/** MeshConfig as the control plane reads it in a cluster. */
export function meshConfig(config: Readonly<Record<string, unknown>>): KubeObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "istio", namespace: "istio-system" },
    data: { mesh: JSON.stringify(config) },
  };
}
