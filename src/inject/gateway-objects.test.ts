import { expect, test } from "vitest";
import { isRecord } from "../lib/index.ts";
import { type KubeObject, mergeMeshConfig } from "../model/index.ts";
import { gatewayObjects, parameterError } from "./gateway-objects.ts";
import { createInjectSettings } from "./settings.ts";

const settings = createInjectSettings({
  values: { global: { hub: "example.com/mesh", tag: "1", proxy: { image: "proxyv2" } } },
  config: undefined,
  meshConfig: mergeMeshConfig({}),
  revision: "",
  compliancePolicy: "",
  annotationError: () => undefined,
});
const gateway = (metadata: Readonly<Record<string, unknown>> = {}, spec: object = {}): KubeObject => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "Gateway",
  metadata: { name: "edge", namespace: "shop", uid: "u1", ...metadata },
  spec: {
    gatewayClassName: "istio",
    listeners: [
      { name: "http.main", port: 80, protocol: "HTTP" },
      { name: "again", port: 80, protocol: "HTTP" },
      { name: "https", port: 443, protocol: "HTTPS" },
    ],
    ...spec,
  },
});
const made = (of: KubeObject, parameters: readonly Readonly<Record<string, string>>[] = []) =>
  gatewayObjects({
    gateway: of,
    moreListeners: [],
    settings,
    proxyConfig: {},
    parameters,
    proxyUser: 1337,
    proxyGroup: 1337,
  });
const find = (objects: readonly KubeObject[], kind: string): KubeObject => {
  const found = objects.find((one) => one.kind === kind);
  if (!found) throw new Error(`no ${kind}`);
  return found;
};

test("a ServiceAccount, a Deployment that runs a router, and a Service with a port for each number", () => {
  const objects = made(gateway());
  expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`)).toEqual([
    "ServiceAccount shop/edge-istio",
    "Deployment shop/edge-istio",
    "Service shop/edge-istio",
  ]);
  expect(find(objects, "Service").spec).toMatchObject({
    type: "LoadBalancer",
    selector: { "gateway.networking.k8s.io/gateway-name": "edge" },
    ports: [
      { name: "status-port", port: 15021 },
      { name: "http-main", port: 80, appProtocol: "http" },
      { name: "https", port: 443, appProtocol: "https" },
    ],
  });
  expect(find(objects, "Deployment")).toMatchObject({
    metadata: {
      labels: { "gateway.istio.io/managed": "istio.io-gateway-controller" },
      ownerReferences: [{ kind: "Gateway", name: "edge", uid: "u1" }],
    },
    spec: {
      selector: { matchLabels: { "gateway.networking.k8s.io/gateway-name": "edge" } },
      template: {
        metadata: { labels: { "sidecar.istio.io/inject": "false" } },
        spec: {
          serviceAccountName: "edge-istio",
          containers: [
            {
              name: "istio-proxy",
              image: "example.com/mesh/proxyv2:1",
              securityContext: { runAsNonRoot: true, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
            },
          ],
        },
      },
    },
  });
});

test("the Gateway's own words: names, type of the Service, infrastructure", () => {
  const objects = made(
    gateway(
      {
        labels: { team: "a" },
        annotations: {
          "gateway.istio.io/name-override": "front",
          "gateway.istio.io/service-account": "front-sa",
          "networking.istio.io/service-type": "ClusterIP",
        },
      },
      { infrastructure: { labels: { cost: "b", "gateway.networking.k8s.io/gateway-name": "other" } } },
    ),
  );
  expect(find(objects, "ServiceAccount").metadata.name).toBe("front-sa");
  const service = find(objects, "Service");
  expect(service.metadata.name).toBe("front");
  expect(service.spec).toMatchObject({ type: "ClusterIP" });
  expect(service.metadata.labels).toMatchObject({ cost: "b", "gateway.networking.k8s.io/gateway-name": "edge" });
  expect(service.metadata.labels).not.toHaveProperty("team");
});

test("parameters are laid over; what is only made when asked for, and what nobody may change", () => {
  const deployment =
    "spec: {replicas: 3, template: {spec: {containers: [{name: istio-proxy, terminationMessagePath: /x}]}}}";
  const objects = made(gateway(), [{ deployment, podDisruptionBudget: "spec: {minAvailable: 1}" }]);
  expect(find(objects, "Deployment").spec).toMatchObject({
    replicas: 3,
    template: { spec: { containers: [{ name: "istio-proxy", terminationMessagePath: "/x" }] } },
  });
  expect(find(objects, "PodDisruptionBudget").spec).toMatchObject({ minAvailable: 1 });
  expect(objects.some(({ kind }) => kind === "HorizontalPodAutoscaler")).toBe(false);
  for (const bad of ["metadata: {namespace: kube-system}", "metadata: {ownerReferences: []}", "kind: Secret", "- a"])
    expect(() => made(gateway(), [{ deployment: bad }]), bad).toThrow(/parameter deployment/);
  expect(parameterError({ deploymnet: "" })).toContain("deployment");
});

/** R25: names, labels and annotations that would have been YAML or a template. */
const hostile = [
  "a\nb: c",
  "---\nkind: Secret",
  "{{ .Values }}",
  '"}]',
  "\u0000\u001b[31m",
  "x\n        privileged: true",
  "$(id)",
];

test("R25: whatever stands in labels, annotations and names stays a value", () => {
  const shape = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shape);
    if (!isRecord(value)) return typeof value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]));
  };
  const keys = [
    "sidecar.istio.io/proxyImage",
    "sidecar.istio.io/logLevel",
    "sidecar.istio.io/componentLogLevel",
    "gateway.istio.io/name-override",
    "gateway.istio.io/service-account",
    "networking.istio.io/service-type",
    "example.com/any",
  ];
  const written = (value: string): readonly KubeObject[] =>
    made(gateway({ annotations: Object.fromEntries(keys.map((key) => [key, value])), labels: { l: value } }));
  const expected = shape(written("plain"));
  for (const value of hostile) expect(shape(written(value)), JSON.stringify(value)).toEqual(expected);
});
