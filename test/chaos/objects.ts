/** What the mesh of twelve has in its API: Services, the format of its access logs, and the route that shows what is live. */
import { type KubeClient, kindRef, kubeKinds } from "../../src/kube/index.ts";
import { istioKinds, type KubeObject } from "../../src/model/index.ts";

const { services, configMaps } = kubeKinds;

/** A line per request that failed, to be found by its id. */
const logFormat =
  "chaos id=%REQ(X-CHAOS-ID)% code=%RESPONSE_CODE% flags=%RESPONSE_FLAGS% upstream=%UPSTREAM_HOST% " +
  "details=%RESPONSE_CODE_DETAILS% why=%UPSTREAM_TRANSPORT_FAILURE_REASON%\n";

const meshConfig = {
  accessLogFile: "/dev/stdout",
  accessLogFormat: logFormat,
  rootNamespace: "istio-system",
  trustDomain: "cluster.local",
};

export const istioKind = (kind: string) => {
  const found = istioKinds.find((candidate) => candidate.kind === kind);
  if (!found) throw new Error(`no kind ${kind}`);
  return kindRef(found);
};

const serviceOf = (name: string, selector?: object): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "default" },
  spec: { ...(selector ? { selector } : {}), ports: [{ name: "http", port: 8000 }] },
});

/** Its endpoints are written by hand. */
const churnedService = "churned";

export async function seedObjects(api: KubeClient, apps: readonly string[]): Promise<void> {
  const data = { mesh: JSON.stringify(meshConfig), meshNetworks: "networks: {}\n" };
  await api.patch(configMaps, { name: "istio", namespace: "istio-system" }, "merge", { data });
  for (const app of apps) await api.create(services, serviceOf(app, { app }));
  await api.create(services, serviceOf(churnedService));
  await api.create(istioKind("Telemetry"), {
    apiVersion: "telemetry.istio.io/v1",
    kind: "Telemetry",
    metadata: { name: "failures-only", namespace: "istio-system" },
    spec: { accessLogging: [{ providers: [{ name: "envoy" }], filter: { expression: "response.code != 200" } }] },
  });
}

/** Every answer of `web` says which generation it came by. */
export async function setGeneration(api: KubeClient, generation: string): Promise<void> {
  const metadata = { name: "web", namespace: "default" };
  const spec = {
    hosts: ["web"],
    http: [
      {
        route: [{ destination: { host: "web" } }],
        headers: { response: { set: { "x-generation": generation } } },
      },
    ],
  };
  const kind = istioKind("VirtualService");
  const object = { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata, spec };
  if (await api.find(kind, metadata)) await api.patch(kind, metadata, "merge", { spec });
  else await api.create(kind, object);
}

/** Writes the endpoints of the Service that nobody keeps. */
export async function setChurned(api: KubeClient, addresses: readonly string[]): Promise<void> {
  const kind = kubeKinds.endpointSlices;
  const metadata = {
    name: churnedService,
    namespace: "default",
    labels: { "kubernetes.io/service-name": churnedService },
  };
  const endpoints = addresses.map((address) => ({ addresses: [address], conditions: { ready: true } }));
  const ports = [{ name: "http", port: 8000, protocol: "TCP" }];
  const object = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata, addressType: "IPv4" };
  if (await api.find(kind, metadata)) await api.patch(kind, metadata, "merge", { endpoints, ports });
  else await api.create(kind, { ...object, endpoints, ports });
}
