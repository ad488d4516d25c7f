import { afterEach, beforeEach, expect, test } from "vitest";
import { createInjectSettings } from "../../inject/index.ts";
import { kubeKinds } from "../../kube/index.ts";
import { silentLogger } from "../../lib/index.ts";
import { type KubeObject, mergeMeshConfig } from "../../model/index.ts";
import { runGatewayDeployments } from "./gateway-deployments.ts";
import { type ControlledApi, startControlledApi } from "./testing.ts";

const gatewayApi = "gateway.networking.k8s.io";
let world: ControlledApi;

beforeEach(async () => {
  world = await startControlledApi();
  const settings = createInjectSettings({
    values: {},
    config: undefined,
    meshConfig: mergeMeshConfig({}),
    revision: "",
    compliancePolicy: "",
    annotationError: () => undefined,
  });
  const { objects } = world;
  const options = {
    client: world.client,
    gateways: objects(gatewayApi, "Gateway"),
    classes: objects(gatewayApi, "GatewayClass"),
    listenerSets: objects(gatewayApi, "ListenerSet"),
    configMaps: objects("", "ConfigMap"),
    deployments: objects("apps", "Deployment"),
    injection: { settings: () => settings, proxyConfig: () => ({}) },
    systemNamespace: "istio-system",
    revision: "",
    log: silentLogger,
    random: () => 0.5,
    signal: world.stop.signal,
  };
  objects("", "Service");
  await world.synced();
  runGatewayDeployments(options);
});
afterEach(() => world.close());

const gateway = (name: string, spec: Readonly<Record<string, unknown>> = {}): KubeObject => ({
  apiVersion: `${gatewayApi}/v1`,
  kind: "Gateway",
  metadata: { name, namespace: "default" },
  spec: { gatewayClassName: "istio", listeners: [{ name: "http", port: 80, protocol: "HTTP" }], ...spec },
});
const there = (object: KubeObject | undefined): boolean => object !== undefined;

test("a Gateway is deployed with the rights of the control plane alone, follows its listeners, and comes back when deleted", async () => {
  await world.create(gateway("edge"));
  const first = await world.until("apps", "Deployment", "default/edge-istio", there);
  const service = await world.until("", "Service", "default/edge-istio", there);
  expect(first.metadata.ownerReferences).toMatchObject([{ kind: "Gateway", name: "edge" }]);
  expect(JSON.stringify(service.spec)).toContain('"port":80');
  const listeners = [
    { name: "http", port: 80, protocol: "HTTP" },
    { name: "more", port: 8080, protocol: "HTTP" },
  ];
  const gateways = { group: gatewayApi, version: "v1", plural: "gateways", kind: "Gateway", namespaced: true };
  await world.admin.patch(gateways, { name: "edge", namespace: "default" }, "merge", { spec: { listeners } });
  await world.until("", "Service", "default/edge-istio", (now) => JSON.stringify(now?.spec).includes('"port":8080'));
  await world.admin.delete(kubeKinds.deployments, { name: "edge-istio", namespace: "default" });
  await world.until(
    "apps",
    "Deployment",
    "default/edge-istio",
    (now) => now !== undefined && now.metadata.uid !== first.metadata.uid,
  );
});

test("what is somebody else's, runs elsewhere, or is of another class or revision is left alone", async () => {
  const foreign: KubeObject = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "taken-istio", namespace: "default", labels: { mine: "yes" } },
    spec: { ports: [{ name: "x", port: 1 }] },
  };
  await world.create(foreign);
  await world.create(gateway("taken"));
  await world.create(gateway("manual", { addresses: [{ type: "Hostname", value: "x.example.com" }] }));
  await world.create(gateway("other", { gatewayClassName: "nginx" }));
  const canary = gateway("canary");
  await world.create({ ...canary, metadata: { ...canary.metadata, labels: { "istio.io/rev": "canary" } } });
  await world.create(gateway("last"));
  // Work is done in order: when the last one is there, the others have been looked at.
  await world.until("", "Service", "default/last-istio", there);
  const deployed = world.objects("apps", "Deployment").keys();
  expect([...deployed].sort()).toEqual(["default/last-istio", "default/taken-istio"]);
  const service = world.objects("", "Service").get("default/taken-istio");
  expect(service?.metadata.labels).toEqual({ mine: "yes" });
});
