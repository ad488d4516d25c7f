import { beforeAll, describe, expect, test } from "vitest";
import { type AnalyzeOptions, analyze, type CelRules, loadCel } from "../index.ts";

let cel: CelRules;
beforeAll(async () => {
  cel = await loadCel();
});

const object = (apiVersion: string, kind: string, name: string, spec: object, metadata: object = {}) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "shop", ...metadata },
  spec,
});
const istio = (kind: string, name: string, spec: object, metadata: object = {}) =>
  object("networking.istio.io/v1", kind, name, spec, metadata);
const kube = (kind: string, name: string, spec: object, metadata: object = {}) =>
  object("v1", kind, name, spec, metadata);
const namespace = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "shop", labels: { "istio-injection": "enabled" } },
};
const route = (host: string, extra: object = {}) => ({ http: [{ route: [{ destination: { host, ...extra } }] }] });

function run(
  files: readonly unknown[],
  cluster?: readonly unknown[],
  options: Partial<AnalyzeOptions> = {},
): readonly string[] {
  return analyze({ files, cluster }, { cel, now: new Date(0), ...options }).map(
    ({ code, kind, name, path }) => `${code} ${kind} ${name}${path ? ` ${path}` : ""}`,
  );
}

describe("analyze", () => {
  const service = kube("Service", "web", {
    ports: [{ name: "http", port: 80, protocol: "TCP" }],
    selector: { app: "web" },
  });

  test("a host that nobody has is found only where a cluster can be asked", () => {
    const files = [istio("VirtualService", "v", { hosts: ["a.com"], ...route("nowhere") })];
    expect(run(files)).toEqual([]);
    expect(run(files, [namespace, service])).toEqual([
      "IST0101 VirtualService v spec.http[0].route[0].destination.host",
    ]);
    expect(run([istio("VirtualService", "v", { hosts: ["a.com"], ...route("web") })], [namespace, service])).toEqual(
      [],
    );
  });

  test("a subset that no DestinationRule has, a port that the service has not", () => {
    const spec = { hosts: ["a.com"], ...route("web", { subset: "v1", port: { number: 81 } }) };
    expect(run([istio("VirtualService", "v", spec)], [namespace, service])).toEqual([
      "IST0101 VirtualService v spec.http[0].route[0].destination.host",
      "IST0101 VirtualService v spec.http[0].route[0].destination.host",
    ]);
  });

  test("a gateway that is not there, and one that does not serve the host", () => {
    const gateway = istio("Gateway", "g", {
      selector: { a: "b" },
      servers: [{ port: { number: 80, name: "h", protocol: "HTTP" }, hosts: ["other/*.com", "./b.org"] }],
    });
    const bound = (host: string) => istio("VirtualService", "v", { hosts: [host], gateways: ["g"], ...route("web") });
    expect(run([bound("a.com")])).toEqual([
      "IST0101 VirtualService v spec.gateways[0]",
      "IST0132 VirtualService v spec.gateways[0]",
    ]);
    expect(run([gateway, bound("a.com")])).toEqual(["IST0132 VirtualService v spec.gateways[0]"]);
    expect(run([gateway, bound("b.org")])).toEqual([]);
  });

  test("Pods without a sidecar in a namespace that has injection on", () => {
    const pod = (name: string, metadata: object = {}) =>
      kube("Pod", name, { containers: [{ name: "app", image: "i" }] }, metadata);
    expect(run([], [namespace, pod("a"), pod("b", { labels: { "sidecar.istio.io/inject": "false" } })])).toEqual([
      "IST0103 Pod a",
    ]);
  });

  test("kinds of the cluster are not read from files", () => {
    expect(run([kube("Pod", "a", {})], [namespace])).toEqual([]);
  });

  test("the webhook's errors, and its two warnings with codes of their own", () => {
    const http = [
      { route: [{ destination: { host: "web" } }] },
      { route: [{ destination: { host: "web" }, weight: -1 }] },
    ];
    expect(run([istio("VirtualService", "v", { hosts: ["a.com"], http })])).toEqual([
      "IST0106 VirtualService v",
      "IST0130 VirtualService v",
    ]);
  });

  test("suppressed by flag, by annotation, by threshold; one analyser alone", () => {
    const spec = { hosts: ["a.com"], gateways: ["g"], ...route("web") };
    const files = [istio("VirtualService", "v", spec)];
    expect(run(files, undefined, { suppress: ["IST0101=VirtualService shop/*"] })).toEqual([
      "IST0132 VirtualService v spec.gateways[0]",
    ]);
    expect(run(files, undefined, { threshold: "Error" })).toEqual(["IST0101 VirtualService v spec.gateways[0]"]);
    expect(
      run([istio("VirtualService", "v", spec, { annotations: { "galley.istio.io/analyze-suppress": "*" } })]),
    ).toEqual([]);
    expect(run(files, undefined, { only: ["gateway.CertificateAnalyzer"] })).toEqual([]);
  });

  test("an object that cannot be decoded is left out, and the rest is looked at", () => {
    expect(
      run([
        istio("VirtualService", "bad", { hosts: 1 }),
        istio("VirtualService", "v", { hosts: ["a.com"], gateways: ["g"], ...route("web") }),
      ]),
    ).toHaveLength(2);
  });
});
