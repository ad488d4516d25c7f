/** A Kubernetes API in; a mesh under traffic out, whose control planes can be started, stopped and put behind their Services. */
import { type ClusterAccess, createKubeClient, type KubeClient, requestToken } from "../../src/kube/index.ts";
import { createTrafficNetwork, type TrafficNetwork } from "../traffic/network.ts";
import { createFleet, type Fleet, type PlaneAddress } from "./fleet.ts";
import { addressOfService } from "./objects.ts";
import { type Plane, type PlaneProgram, startPlane } from "./plane.ts";
import { type ServiceAddress, serveService } from "./service.ts";
import { type AgentProgram, fairleadAgent } from "./workload.ts";

export interface SwapWorld {
  readonly client: KubeClient;
  readonly network: TrafficNetwork;
  /** Starts a control plane of a revision that is installed; nobody is led to it yet. */
  start(program: PlaneProgram, revision: string): Promise<Plane>;
  /** New connections to the revision's Service go to these. */
  point(revision: string, ...planes: readonly Plane[]): Promise<void>;
  address(revision: string): Promise<PlaneAddress>;
  /** The Pods of the mesh; their agents are taken in turn. */
  populate(revision: string, agents?: readonly AgentProgram[]): Promise<Fleet>;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly access: ClusterAccess;
  /** Told where a Service is, for an API that has to be told. */
  onService?(name: string, address: string): void;
}

const serviceName = (revision: string): string => (revision === "default" ? "istiod" : `istiod-${revision}`);
const namespace = "istio-system";

export async function createSwapWorld({ access, onService }: WorldOptions): Promise<SwapWorld> {
  const network = await createTrafficNetwork();
  const client = createKubeClient(access);
  const services = new Map<string, { readonly address: string; readonly service: ServiceAddress }>();
  const planes: Plane[] = [];
  let fleet: Fleet | undefined;
  const serviceOf = async (revision: string) => {
    const known = services.get(revision);
    if (known) return known;
    const made = await openService(client, network, serviceName(revision));
    onService?.(serviceName(revision), made.address);
    services.set(revision, made);
    return made;
  };
  const address = async (revision: string): Promise<PlaneAddress> => ({
    ...{ revision, host: `${serviceName(revision)}.${namespace}.svc` },
    address: (await serviceOf(revision)).address,
  });
  return {
    client,
    network,
    address,
    async start(program, revision) {
      const order = { serviceAccount: serviceName(revision), namespace, audiences: [] };
      const { token } = await requestToken(client, order);
      const kubeconfig = await kubeconfigOf(access, token);
      const own = await network.hostAddress();
      const plane = await startPlane({ program, revision, address: own, kubeconfig, journal: network.journal });
      planes.push(plane);
      return plane;
    },
    async point(revision, ...behind) {
      (await serviceOf(revision)).service.point(...behind.map((plane) => plane.address));
    },
    async populate(revision, agents = [fairleadAgent]) {
      fleet = await createFleet({ client, network, plane: await address(revision), agents });
      return fleet;
    },
    async close() {
      await fleet?.close();
      await Promise.all(planes.map((plane) => plane.stop()));
      for (const { service } of services.values()) await service.close();
      client.close();
      await network.remove();
    },
  };
}

async function openService(client: KubeClient, network: TrafficNetwork, name: string) {
  const address = await addressOfService(client, { name, namespace }, network.hostAddress);
  await network.own(address);
  return { address, service: await serveService(address, { 443: 15017, 15010: 15010, 15012: 15012 }) };
}

/** As a Pod's account, for a program that runs outside. */
async function kubeconfigOf(access: ClusterAccess, token: string): Promise<string> {
  const authority = (await access.credentials(false)).ca ?? access.ca ?? "";
  const cluster = { server: access.server, "certificate-authority-data": Buffer.from(authority).toString("base64") };
  return JSON.stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "own" },
    clusters: [{ name: "own", cluster }],
    users: [{ name: "own", user: { token } }],
    contexts: [{ name: "own", context: { cluster: "own", user: "own" } }],
  });
}
