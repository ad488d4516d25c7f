import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { dump } from "js-yaml";
import { expect, test } from "vitest";
import { findHelm, lacks } from "../../test/require.ts";
import { isRecord, parseYaml, readList, readRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { chartFiles, completeValues, installObjects, readGivenValues, valuesYaml } from "./index.ts";

const printYaml = (data: unknown): string => dump(data, { noRefs: true, lineWidth: -1, sortKeys: true });

function made(sets: readonly string[] = [], profile = "default", namespace = "istio-system"): readonly KubeObject[] {
  const values = completeValues(profile, readGivenValues([], sets).values);
  return installObjects({ namespace, values, printYaml });
}

const find = (objects: readonly KubeObject[], kind: string, name?: string): KubeObject => {
  const found = objects.find((object) => object.kind === kind && (name === undefined || object.metadata.name === name));
  if (!found)
    throw new Error(`no ${kind} ${name ?? ""} among ${objects.map((o) => `${o.kind} ${o.metadata.name}`).join(", ")}`);
  return found;
};
const podSpec = (objects: readonly KubeObject[]) =>
  readRecord(readRecord(readRecord(find(objects, "Deployment").spec).template).spec);

test("istioctl and proxies find the control plane by Istio's names, labels and ports", () => {
  const service = find(made(), "Service", "istiod");
  expect(service.metadata.labels).toMatchObject({ app: "istiod", istio: "pilot", "istio.io/rev": "default" });
  const ports = readList(readRecord(service.spec).ports).map(readRecord);
  expect(ports.map(({ port, targetPort }) => targetPort ?? port)).toEqual([15010, 15012, 15017, 15014]);
  expect(find(made(), "MutatingWebhookConfiguration").metadata.name).toBe("istio-sidecar-injector");
  expect(find(made(), "Deployment").metadata.labels).toMatchObject({ app: "istiod", istio: "pilot" });
});

test("a revision has its own objects, its own selector, and no default webhooks", () => {
  const objects = made(["revision=canary"]);
  for (const kind of ["Deployment", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget", "Role"])
    expect(find(objects, kind).metadata.name).toBe("istiod-canary");
  const { selector } = readRecord(find(objects, "Deployment").spec);
  expect(readRecord(selector).matchLabels).toEqual({ app: "istiod", "istio.io/rev": "canary" });
  const webhooks = readList(find(objects, "MutatingWebhookConfiguration")["webhooks"]).map(readRecord);
  expect(webhooks.map(({ name }) => name)).toEqual([
    "rev.namespace.sidecar-injector.istio.io",
    "rev.object.sidecar-injector.istio.io",
  ]);
  expect(objects.some(({ metadata }) => metadata.name === "istiod-default-validator")).toBe(false);
});

test("the control plane runs as nobody, on a read-only root, with nothing that it does not need", () => {
  const [container] = readList(podSpec(made()).containers).map(readRecord);
  expect(container?.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    readOnlyRootFilesystem: true,
    runAsGroup: 1337,
    runAsNonRoot: true,
    runAsUser: 1337,
    seccompProfile: { type: "RuntimeDefault" },
  });
});

test("no role has a wildcard, and Secrets are written in the own namespace only", () => {
  const roles = made().filter(({ kind }) => kind === "ClusterRole" || kind === "Role");
  expect(roles.length).toBe(4);
  for (const role of roles)
    for (const rule of readList(role["rules"]).map(readRecord)) {
      expect(JSON.stringify(rule)).not.toContain('"*"');
      const writes = readList(rule.verbs).some((verb) => !["get", "list", "watch"].includes(String(verb)));
      if (role.kind === "ClusterRole" && readList(rule.resources).includes("secrets")) expect(writes).toBe(false);
    }
});

test("budget, autoscaler, policy and monitor follow their values", () => {
  expect(find(made(), "PodDisruptionBudget").spec).toMatchObject({ minAvailable: 1 });
  expect(JSON.stringify(find(made(), "HorizontalPodAutoscaler").spec)).toContain('"averageUtilization":70');
  const kinds = made(["serviceMonitor.enabled=true", "global.networkPolicy.enabled=true"]).map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(["NetworkPolicy", "ServiceMonitor"]));
  const minimal = made([], "minimal");
  expect(minimal.map(({ kind }) => kind)).not.toContain("HorizontalPodAutoscaler");
  expect(find(minimal, "Deployment").spec).toMatchObject({ replicas: 1 });
});

test("what the injector reads is what was given", () => {
  const { data } = find(
    made(["global.proxy.image=proxyv2", "global.hub=docker.io/istio"]),
    "ConfigMap",
    "istio-sidecar-injector",
  );
  const values = JSON.parse(String(readRecord(data).values));
  expect(values.global).toMatchObject({ hub: "docker.io/istio", proxy: { image: "proxyv2" } });
  expect(find(made(), "ConfigMap", "istio")).toMatchObject({
    data: { mesh: expect.stringContaining("istiod.istio-system.svc:15012") },
  });
});

test.each([
  ["pilot.autoscaleMn=2", "pilot.autoscaleMn: there is no such value; did you mean pilot.autoscaleMin?"],
  ["golbal.hub=x", "golbal: there is no such value; did you mean global?"],
  ["logLevel=debug", "logLevel: there is no such value"],
  ["pilot.targetAverageUtilization=5", "did you mean pilot.cpu.targetAverageUtilization?"],
  ["pilot.autoscaleMin=two", 'pilot.autoscaleMin: a whole number is needed, found "two"'],
  ["global.logAsJson=yes", "global.logAsJson: true or false is needed"],
  ["pilot.cni.provider=other", "pilot.cni.provider: one of default, multus is needed"],
])("--set %s is refused: %s", (set, message) => {
  expect(() => made([set])).toThrow(message);
});

test("--set takes lists, indexes, escapes and istioctl's words", () => {
  const { values } = readGivenValues(
    [],
    ["values.pilot.env.A=1,values.global.imagePullSecrets[0]=x", "hub=h", "tag=1.2"],
  );
  expect(completeValues("default", values)).toMatchObject({
    pilot: { env: { A: 1 } },
    global: { imagePullSecrets: ["x"], hub: "h", tag: "1.2" },
  });
  const escaped = readGivenValues(
    [],
    ["global.proxy.includeIPRanges=10.0.0.0/8\\,10.1.0.0/16", "pilot.podLabels.a\\.b/c=d", "revisionTags={x,y}"],
  );
  expect(completeValues("default", escaped.values)).toMatchObject({
    global: { proxy: { includeIPRanges: "10.0.0.0/8,10.1.0.0/16" } },
    pilot: { podLabels: { "a.b/c": "d" } },
    revisionTags: ["x", "y"],
  });
});

test("an IstioOperator is read as istioctl reads it", () => {
  const operator = {
    kind: "IstioOperator",
    spec: { profile: "demo", hub: "h", meshConfig: { accessLogFile: "/x" }, values: { global: { logAsJson: true } } },
  };
  const { profile, values } = readGivenValues([operator], []);
  expect(profile).toBe("demo");
  expect(completeValues("demo", values)).toMatchObject({
    global: { hub: "h", logAsJson: true },
    meshConfig: { accessLogFile: "/x" },
  });
});

test("the printed values are the defaults", () => {
  expect(parseYaml(valuesYaml(printYaml))[0]).toEqual(completeValues("default", []));
});

/** Fields that say nothing, which Helm leaves as null or {} and we leave out. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, inYaml(key, plain(inner))] as const);
  return Object.fromEntries(
    entries.filter(([, inner]) => inner !== null && !(isRecord(inner) && Object.keys(inner).length === 0)),
  );
}

/** Texts that hold YAML or JSON are compared by what they say. */
const inYaml = (key: string, value: unknown): unknown =>
  ["mesh", "meshNetworks", "config", "values"].includes(key) && typeof value === "string"
    ? plain(parseYaml(value))
    : value;

const helm = findHelm() ?? "helm";

test.skipIf(lacks("helm"))("the chart passes helm lint and makes the same objects", { timeout: 300_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), "chart-"));
  for (const { path, content } of chartFiles(printYaml)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
  execFileSync(helm, ["lint", "--strict", dir]);
  const byName = (objects: readonly unknown[]): readonly unknown[] =>
    objects.map(plain).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  for (const sets of [
    [],
    ["revision=canary", "pilot.env.A=b", "revisionTags={prod}"],
    [
      "global.imagePullSecrets={a,b}",
      "serviceMonitor.enabled=true",
      "global.networkPolicy.enabled=true",
      "pilot.image=my/own:1",
      "global.logAsJson=true",
      "pilot.autoscaleEnabled=false",
    ],
  ]) {
    const args = ["template", "fairlead", dir, "-n", "mesh", ...sets.flatMap((set) => ["--set", set])];
    const text = execFileSync(helm, args, { encoding: "utf8" });
    expect(byName(parseYaml(text))).toEqual(byName(made(sets, "default", "mesh")));
  }
  rmSync(dir, { recursive: true });
});
