import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kindRef, kubeKinds } from "../../kube/index.ts";
import { createLogger, readList, readRecord, readText } from "../../lib/index.ts";
import { type KubeObject, serviceEntry, virtualService } from "../../model/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../../pki/index.ts";
import { createStages } from "../stages.ts";
import { runProblemReports } from "./problem-reports.ts";
import { type ControlledApi, startControlledApi } from "./testing.ts";

const istio = "networking.istio.io";
const object = (kind: string, name: string, spec: Readonly<Record<string, unknown>>): KubeObject => ({
  apiVersion: `${istio}/v1`,
  kind,
  metadata: { name, namespace: "default" },
  spec,
});
const route = (host: string, subset?: string) => [
  { route: [{ destination: { host, ...(subset ? { subset } : {}) } }] },
];
const reconciled = (of: KubeObject | undefined) =>
  readList(readRecord(of?.status).conditions)
    .map(readRecord)
    .find(({ type }) => type === "Reconciled");
const messageOf = (of: KubeObject | undefined): string => readText(reconciled(of)?.message);

const newYear = new Date("2026-01-01T00:00:00Z");
const day = 86_400_000;

async function pair(lifeDays: number): Promise<Readonly<Record<string, string>>> {
  const { publicKey, privateKey } = await generateKey();
  const signer = { certificate: undefined, key: privateKey };
  const terms = { profile: "server", subject: { commonName: "a" }, publicKey, signer } as const;
  const certificate = issueCertificate({ ...terms, now: newYear, ttlMs: lifeDays * day });
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  return { "tls.crt": encode(formatCertificate(certificate)), "tls.key": encode(formatPrivateKey(privateKey)) };
}

describe("problems of objects", () => {
  let world: ControlledApi;
  let now = newYear;
  const lines: string[] = [];
  const counted: string[] = [];
  const patches = new Map<string, ReadonlyMap<string, string>>();
  const listeners = new Set<() => void>();
  const until = (kind: string, name: string, holds: (now: KubeObject | undefined) => boolean): Promise<KubeObject> =>
    world.until(istio, kind, `default/${name}`, holds);

  beforeAll(async () => {
    world = await startControlledApi();
    const { graph, client, objects } = world;
    const stages = createStages({
      graph,
      objects,
      domain: "cluster.local",
      cluster: "Kubernetes",
      configMap: "istio-system/istio",
    });
    await world.synced();
    runProblemReports({
      client,
      writesStatus: true,
      objects,
      meshConfig: stages.settings.text,
      decoding: stages.problems,
      patches: {
        skipped: patches,
        subscribe(listener) {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
      refusals: { byObject: async () => new Map(), subscribe: () => () => {} },
      now: () => now,
      random: () => 0.5,
      log: createLogger({ write: (line) => lines.push(line), now: () => new Date(0) }),
      onProblem: (kind, { code }) => counted.push(`${kind} ${code}`),
      signal: world.stop.signal,
      quietMs: 20,
      maxMs: 200,
      lookMs: 100,
    });
    await world.create({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "default" },
      spec: { ports: [{ name: "http", port: 80 }] },
    });
  });
  afterAll(() => world.close());

  test("a dangling subset and an unknown gateway stand on the VirtualService, and go when it is mended", async () => {
    await world.create(
      object("VirtualService", "v", { hosts: ["web"], gateways: ["nowhere"], http: route("web", "v9") }),
    );
    const bad = await until("VirtualService", "v", (now) => messageOf(now).includes("web+v9"));
    expect(reconciled(bad)).toMatchObject({
      status: "False",
      reason: "ErrorsFound",
      observedGeneration: "1",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    });
    expect(messageOf(bad)).toContain('[IST0101] spec.gateways[0]: Referenced gateway not found: "nowhere"');
    expect(readRecord(bad.status).validationMessages).toContainEqual({
      type: { code: "IST0101" },
      level: "ERROR",
      documentationUrl: expect.stringContaining("/ist0101/"),
    });
    const ref = { name: "v", namespace: "default" };
    await world.admin.patch(kindRef(virtualService), ref, "merge", { spec: { gateways: null, http: route("web") } });
    const good = await until("VirtualService", "v", (now) => reconciled(now)?.observedGeneration === "2");
    expect(reconciled(good)).toMatchObject({ status: "True", reason: "NoProblemsFound" });
    expect(readRecord(good.status)).not.toHaveProperty("validationMessages");
  });

  test("each cause is logged and counted once, whatever else changes", async () => {
    const about = (name: string): number =>
      lines.filter((line) => line.includes(`VirtualService/default/${name}:`)).length;
    await world.create(object("VirtualService", "w", { hosts: ["w.com"], http: route("web", "v8") }));
    await until("VirtualService", "w", (now) => reconciled(now) !== undefined);
    await world.create(object("VirtualService", "x", { hosts: ["x.com"], http: route("web", "v7") }));
    await until("VirtualService", "x", (now) => reconciled(now) !== undefined);
    expect([about("w"), about("x")]).toEqual([1, 1]);
    expect(counted.filter((entry) => entry === "VirtualService IST0101").length).toBeGreaterThanOrEqual(3);
  });

  test("a field that is not honoured is a warning, beside what others wrote", async () => {
    const spec = { hosts: ["s.com"], resolution: "DNS", ports: [{ number: 80, name: "http", protocol: "HTTP" }] };
    await world.create(object("ServiceEntry", "s", spec));
    const condition = { type: "Other", status: "True" };
    await world.admin.patchStatus(
      kindRef(serviceEntry),
      { name: "s", namespace: "default" },
      { addresses: [{ value: "240.240.0.9", host: "s.com" }], conditions: [condition] },
    );
    const trafficPolicy = { outlierDetection: { consecutiveErrors: 3 } };
    await world.create(object("DestinationRule", "g", { host: "a", trafficPolicy }));
    const told = await until("DestinationRule", "g", (now) => reconciled(now)?.reason === "WarningsFound");
    expect(reconciled(told)).toMatchObject({ status: "True", reason: "WarningsFound" });
    expect(messageOf(told)).toContain("consecutiveErrors is not honoured");
    const healthy = await until("ServiceEntry", "s", (now) => reconciled(now) !== undefined);
    expect(healthy.status).toEqual({
      addresses: [{ value: "240.240.0.9", host: "s.com" }],
      conditions: [condition, expect.objectContaining({ status: "True", reason: "NoProblemsFound" })],
    });
  });

  test("what a leader before us wrote is taken back once it is no longer so", async () => {
    await world.create(object("VirtualService", "old", { hosts: ["old.com"], http: route("web") }));
    const stale = { type: "Reconciled", status: "False", reason: "ErrorsFound", message: "long gone" };
    await world.admin.patchStatus(
      kindRef(virtualService),
      { name: "old", namespace: "default" },
      { conditions: [stale], validationMessages: [{ type: { code: "IST0101" }, level: "ERROR" }] },
    );
    await world.create(object("VirtualService", "nudge", { hosts: ["n.com"], http: route("web") }));
    const cleaned = await until("VirtualService", "old", (now) => reconciled(now)?.reason === "NoProblemsFound");
    expect(readRecord(cleaned.status)).toEqual({ conditions: [reconciled(cleaned)] });
  });

  test("an object that nothing is wrong with says so, once per generation", async () => {
    await world.create(object("VirtualService", "fine", { hosts: ["fine.com"], http: route("web") }));
    const first = await until("VirtualService", "fine", (now) => reconciled(now) !== undefined);
    expect(reconciled(first)).toEqual({
      type: "Reconciled",
      status: "True",
      reason: "NoProblemsFound",
      message: "nothing wrong was found",
      observedGeneration: "1",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    });
    // Others change: it is looked at again, and not written again.
    await world.create(object("VirtualService", "fine-too", { hosts: ["two.com"], http: route("web") }));
    await until("VirtualService", "fine-too", (now) => reconciled(now) !== undefined);
    const later = await until("VirtualService", "fine", (now) => now !== undefined);
    expect(later.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  test("a patch that rendering skipped stands on its EnvoyFilter", async () => {
    await world.create(
      object("EnvoyFilter", "e", { configPatches: [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value: {} } }] }),
    );
    patches.set("default/e", new Map([["spec.configPatches[0]", "no such type"]]));
    for (const listener of listeners) listener();
    const told = await until("EnvoyFilter", "e", (now) => reconciled(now)?.reason === "WarningsFound");
    expect(messageOf(told)).toBe("[FLD0004] spec.configPatches[0]: The patch is skipped: no such type");
  });

  test("a credential that is missing, of no use, or soon of none, stands on the Gateway that names it", async () => {
    const tls = { mode: "SIMPLE", credentialName: "cert" };
    const server = { port: { number: 443, name: "https", protocol: "HTTPS" }, hosts: ["a.com"], tls };
    await world.create(object("Gateway", "edge", { selector: { app: "edge" }, servers: [server] }));
    const fine = await until("Gateway", "edge", (of) => reconciled(of)?.reason === "NoProblemsFound");
    expect(messageOf(fine)).toBe("nothing wrong was found");

    const place = { name: "edge-1", namespace: "default", labels: { app: "edge" } };
    const spec = { containers: [{ name: "proxy", image: "proxy" }] };
    await world.create({ apiVersion: "v1", kind: "Pod", metadata: place, spec });
    const missing = await until("Gateway", "edge", (of) => messageOf(of).includes("IST0101"));
    expect(reconciled(missing)).toMatchObject({ status: "False", reason: "ErrorsFound" });
    expect(messageOf(missing)).toBe(
      '[IST0101] spec.servers[0].tls.credentialName: Referenced credentialName not found: "cert"',
    );

    const metadata = { name: "cert", namespace: "default" };
    const [good, other] = [await pair(90), await pair(90)];
    const data = { ...good, "tls.key": other["tls.key"] ?? "" };
    await world.create({ apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls", metadata, data });
    const broken = await until("Gateway", "edge", (of) => messageOf(of).includes("FLD0009"));
    expect(messageOf(broken)).toContain("its key is not that of its certificate");

    await world.admin.patch(kubeKinds.secrets, metadata, "merge", { data: good });
    await until("Gateway", "edge", (of) => reconciled(of)?.reason === "NoProblemsFound");
    now = new Date(newYear.getTime() + 85 * day);
    const expiring = await until("Gateway", "edge", (of) => messageOf(of).includes("FLD0008"));
    expect(reconciled(expiring)).toMatchObject({ status: "True", reason: "WarningsFound" });
    now = new Date(newYear.getTime() + 95 * day);
    const expired = await until("Gateway", "edge", (of) => messageOf(of).includes("IST0161"));
    expect(reconciled(expired)).toMatchObject({ status: "False", reason: "ErrorsFound" });
    expect(lines.join()).not.toContain("PRIVATE KEY");
    now = newYear;
    // For all gateways: where they are looked for nobody can say.
    const unknown = { ...server, tls: { ...tls, credentialName: "unknown" } };
    await world.create(object("Gateway", "all", { servers: [unknown] }));
    const all = await until("Gateway", "all", (of) => reconciled(of) !== undefined);
    expect(messageOf(all)).toBe("nothing wrong was found");
  });
});
