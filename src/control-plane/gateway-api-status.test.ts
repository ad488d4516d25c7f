import { describe, expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import { readList, readRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { createStages } from "./stages.ts";
import { watchObjects } from "./watched-kinds.ts";

const api = "gateway.networking.k8s.io/v1";
const object = (
  kind: string,
  name: string,
  spec: Readonly<Record<string, unknown>>,
  rest: Readonly<Record<string, unknown>> = {},
): KubeObject => ({
  apiVersion: kind === "Service" || kind === "ConfigMap" ? "v1" : api,
  kind,
  metadata: { name, namespace: "infra", generation: 2, ...(rest.metadata ?? {}) },
  ...(kind === "ConfigMap" ? rest : { spec }),
});

function statusOf(key: string, objects: readonly KubeObject[]): Readonly<Record<string, unknown>> {
  const graph = createGraph();
  const stages = createStages({
    graph,
    objects: watchObjects(createMemorySource({ graph, objects })).objects,
    domain: "cluster.local",
    cluster: "Kubernetes",
    configMap: "istio-system/istio",
  });
  return readRecord(stages.statuses.get(key)?.status);
}

/** `Type=Status/Reason` of each. */
const told = (of: unknown): readonly string[] =>
  readList(readRecord(of).conditions)
    .map(readRecord)
    .map(({ type, status, reason }) => `${type}=${status}/${reason}`);

const gateway = (from: string, listeners: readonly unknown[] = [{ name: "own", port: 80, protocol: "HTTP" }]) =>
  object("Gateway", "edge", { gatewayClassName: "istio", listeners, allowedListeners: { namespaces: { from } } });
const set = (listeners: readonly unknown[]) =>
  object("ListenerSet", "extra", { parentRef: { name: "edge" }, listeners });

describe("a ListenerSet", () => {
  test("that is let in, with its listeners; the Gateway counts it", () => {
    const objects = [gateway("Same"), set([{ name: "more", port: 8080, protocol: "HTTP" }])];
    const status = statusOf("ListenerSet/infra/extra", objects);
    expect(told(status)).toEqual(["Accepted=True/Accepted", "Programmed=False/AddressNotUsable"]);
    expect(readList(status.listeners).map((listener) => readRecord(listener).name)).toEqual(["more"]);
    expect(statusOf("Gateway/infra/edge", objects).attachedListenerSets).toBe(1);
  });

  test("that is not let in says so, and has no listeners", () => {
    const objects = [gateway("None"), set([{ name: "more", port: 8080, protocol: "HTTP" }])];
    const status = statusOf("ListenerSet/infra/extra", objects);
    expect(told(status)).toEqual(["Accepted=False/NotAllowed", "Programmed=False/NotAllowed"]);
    expect(status.listeners).toEqual([]);
    expect(statusOf("Gateway/infra/edge", objects)).not.toHaveProperty("attachedListenerSets");
  });

  test("whose listeners all conflict is not accepted", () => {
    const status = statusOf("ListenerSet/infra/extra", [
      gateway("Same"),
      set([{ name: "own", port: 80, protocol: "HTTP" }]),
    ]);
    expect(told(status)).toEqual(["Accepted=False/ListenersNotValid", "Programmed=False/ListenersNotValid"]);
  });

  test("none of whose listeners works is not counted", () => {
    const objects = [gateway("Same"), set([{ name: "own", port: 80, protocol: "HTTP" }])];
    expect(statusOf("Gateway/infra/edge", objects)).not.toHaveProperty("attachedListenerSets");
  });
});

describe("a Gateway", () => {
  const spec = { gatewayClassName: "istio", listeners: [{ name: "own", port: 80, protocol: "HTTP" }] };
  const conditionsOf = (more: Readonly<Record<string, unknown>>, ...others: readonly KubeObject[]) =>
    told(statusOf("Gateway/infra/edge", [object("Gateway", "edge", { ...spec, ...more }), ...others]));

  test("whose parameters are not there, or of another kind, is not accepted; with them it is", () => {
    const refTo = (group: string, kind: string) => ({ infrastructure: { parametersRef: { group, kind, name: "p" } } });
    const parameters = object("ConfigMap", "p", {}, { data: {} });
    expect(conditionsOf(refTo("other.io", "Parameters"), parameters)).toContain("Accepted=False/InvalidParameters");
    expect(conditionsOf(refTo("", "ConfigMap"))).toContain("Accepted=False/InvalidParameters");
    expect(conditionsOf(refTo("", "ConfigMap"), parameters)).toContain("Accepted=True/Accepted");
  });

  test("one of whose addresses cannot be used says so, although another can", () => {
    const addresses = [
      { type: "other.io/x", value: "x" },
      { type: "Hostname", value: "web" },
    ];
    expect(conditionsOf({ addresses })).toContain("Accepted=False/UnsupportedAddress");
    expect(conditionsOf({ addresses: addresses.slice(1) })).toContain("Accepted=True/Accepted");
  });

  test("that lets in unverified clients says so", () => {
    const fallback = { validation: { mode: "AllowInsecureFallback", caCertificateRefs: [] } };
    const word = "InsecureFrontendValidationMode=True/ConfigurationChanged";
    expect(conditionsOf({ tls: { frontend: { default: fallback } } })).toContain(word);
    expect(conditionsOf({ tls: { frontend: { default: {}, perPort: [{ port: 80, tls: fallback }] } } })).toContain(
      word,
    );
    expect(conditionsOf({ tls: { frontend: { default: {} } } })).not.toContain(word);
  });
});

describe("a BackendTLSPolicy", () => {
  const web = object("Service", "web", { ports: [{ name: "https", port: 443 }] });
  const ca = object("ConfigMap", "ca", {}, { data: { "ca.crt": "-----BEGIN CERTIFICATE-----" } });
  const policy = (
    name: string,
    target: Readonly<Record<string, unknown>> = {},
    ref = { group: "", kind: "ConfigMap", name: "ca" },
  ) =>
    object("BackendTLSPolicy", name, {
      targetRefs: [{ group: "", kind: "Service", name: "web", ...target }],
      validation: { hostname: "web.example.com", caCertificateRefs: [ref] },
    });
  const ancestors = (objects: readonly KubeObject[], name = "p") =>
    readList(statusOf(`BackendTLSPolicy/infra/${name}`, objects).ancestors).map(readRecord);

  test("that holds: for its target, and for each Gateway that routes there", () => {
    const route = object("HTTPRoute", "r", {
      parentRefs: [{ name: "edge" }],
      rules: [{ backendRefs: [{ name: "web", port: 443 }] }],
    });
    const [target, edge, ...more] = ancestors([web, ca, policy("p"), gateway("None"), route]);
    expect(target).toMatchObject({
      ancestorRef: { group: "", kind: "Service", name: "web" },
      controllerName: "istio.io/mesh-controller",
    });
    expect(told(target)).toEqual(["Accepted=True/Accepted", "ResolvedRefs=True/ResolvedRefs"]);
    expect(edge).toMatchObject({
      ancestorRef: { kind: "Gateway", name: "edge" },
      controllerName: "istio.io/gateway-controller",
    });
    expect(more).toEqual([]);
  });

  test.each([
    ["no such target", [ca, policy("p")], ["Accepted=False/TargetNotFound", "ResolvedRefs=True/ResolvedRefs"]],
    [
      "no such port",
      [web, ca, policy("p", { sectionName: "http" })],
      ["Accepted=False/TargetNotFound", "ResolvedRefs=True/ResolvedRefs"],
    ],
    [
      "no certificate",
      [web, policy("p")],
      ["Accepted=False/NoValidCACertificate", "ResolvedRefs=False/InvalidCACertificateRef"],
    ],
    [
      "a Secret for a certificate",
      [web, policy("p", {}, { group: "", kind: "Secret", name: "ca" })],
      ["Accepted=False/NoValidCACertificate", "ResolvedRefs=False/InvalidKind"],
    ],
  ])("with %s", (_case, objects, expected) => {
    expect(told(ancestors(objects)[0])).toEqual(expected);
  });

  test("that came after another for the same target", () => {
    const objects = [web, ca, policy("p"), policy("q")];
    expect(told(ancestors(objects)[0])).toContain("Accepted=True/Accepted");
    expect(told(ancestors(objects, "q")[0])).toContain("Accepted=False/Conflicted");
  });
});
