import { afterAll, beforeAll, expect, test } from "vitest";
import { kubeKinds } from "../kube/index.ts";
import { createLogger } from "../lib/index.ts";
import { bytesOf, type KubeObject, types } from "../model/index.ts";
import { createMetrics } from "../ops/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../pki/index.ts";
import type { ProxyNode } from "../xds/index.ts";
import { type ControlledApi, startControlledApi } from "./controllers/testing.ts";
import { reportCredentials } from "./credential-reports.ts";
import { proxyOfNode } from "./proxy-of-node.ts";
import { type ControlledSource, createResourceSource } from "./source/resource-source.ts";
import { createStages } from "./stages.ts";

const day = 86_400_000;
const metrics = createMetrics();
const lines: string[] = [];
const events: string[] = [];
let world: ControlledApi;
let source: ControlledSource;
let aheadMs = 0;
const now = (): Date => new Date(Date.now() + aheadMs);

beforeAll(async () => {
  world = await startControlledApi();
  const { graph, objects } = world;
  const log = createLogger({ write: (line) => lines.push(line), now });
  const record = (about: KubeObject, type: string, reason: string): void =>
    void events.push(`${type} ${reason} of ${about.kind} ${about.metadata.name}`);
  const onCredential = reportCredentials({
    ...{ graph, metrics, now, log, signal: world.stop.signal },
    recorder: { record, idle: async () => {} },
    secrets: objects("", "Secret"),
    configMaps: objects("", "ConfigMap"),
  });
  const [cluster, domain] = ["Kubernetes", "cluster.local"];
  const stages = createStages({ graph, objects, domain, cluster, configMap: "istio-system/istio", onCredential });
  await world.synced();
  const context = { mesh: stages.mesh, registry: stages.registry, domain, cluster };
  source = createResourceSource({
    mesh: stages.mesh,
    proxyOf: (one, identity) => proxyOfNode(one, context, identity),
    classOf: stages.classOf,
    debounceMs: 1,
    debounceMaxMs: 10,
    onFault: (_proxy, { error }) => {
      throw error;
    },
  });
});
afterAll(async () => {
  source.close();
  await world.close();
});

const node: ProxyNode = {
  ...{ id: "router~10.0.0.1~gw-0.default~default.svc.cluster.local", cluster: "gw", userAgent: "" },
  metadata: { NAMESPACE: "default", CLUSTER_ID: "Kubernetes", LABELS: { app: "gw" } },
  ...{ locality: { region: "", zone: "", subZone: "" }, extensions: new Set() },
};
async function pair(fromDays: number, lifeDays: number): Promise<Readonly<Record<string, string>>> {
  const { publicKey, privateKey } = await generateKey();
  const signer = { certificate: undefined, key: privateKey };
  const terms = { profile: "server", subject: { commonName: "a" }, publicKey, signer } as const;
  const begun = new Date(Date.now() + fromDays * day);
  const certificate = formatCertificate(issueCertificate({ ...terms, now: begun, ttlMs: lifeDays * day }));
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  return { "tls.crt": encode(certificate), "tls.key": encode(formatPrivateKey(privateKey)) };
}
async function figures(): Promise<{ errors: number; states: string; leftDays: number }> {
  const text = await metrics.text();
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  const states = [...text.matchAll(/^fairlead_credentials\{state="(\w+)"\} 1$/gm)].map(([, state]) => state);
  return {
    errors: value("pilot_sds_certificate_errors_total"),
    states: states.join(),
    leftDays: Math.round(value("fairlead_credential_expiry_seconds") / 86_400),
  };
}

test("what proxies are to be given and cannot use is counted and told; a new Secret is live at once", async () => {
  const identity = { trustDomain: "cluster.local", namespace: "default", serviceAccount: "gw" };
  let told = Promise.withResolvers<void>();
  const session = source.connect(node, identity, (changed) => {
    if (!changed || changed.has(types.secret)) told.resolve();
  });
  const given = (): string =>
    Buffer.from(bytesOf(session.get(types.secret, "kubernetes://cert") ?? { pieces: [] })).toString("latin1");
  const replace = async (data: Readonly<Record<string, string>>): Promise<string> => {
    told = Promise.withResolvers<void>();
    await world.admin.patch(kubeKinds.secrets, { name: "cert", namespace: "default" }, "merge", { data });
    await told.promise;
    return given();
  };
  expect(given()).toBe("");
  expect(await figures()).toMatchObject({ errors: 1, states: "missing" });

  told = Promise.withResolvers<void>();
  const metadata = { name: "cert", namespace: "default" };
  const expired = await pair(-100, 90);
  await world.create({ apiVersion: "v1", kind: "Secret", metadata, type: "kubernetes.io/tls", data: expired });
  await told.promise;
  // As istiod, it is Envoy's to say what an expired certificate is good for.
  expect(given()).toContain("BEGIN CERTIFICATE");
  expect(await figures()).toMatchObject({ errors: 2, states: "expired", leftDays: -10 });

  const [good, other] = [await pair(0, 90), await pair(0, 90)];
  await replace({ ...good, "tls.key": other["tls.key"] ?? "" });
  expect(await figures()).toMatchObject({ errors: 3, states: "broken" });
  const certificate = Buffer.from(good["tls.crt"] ?? "", "base64").toString();
  expect(await replace(good)).toContain(certificate);
  expect(await figures()).toEqual({ errors: 3, states: "good", leftDays: 90 });
  expect(await metrics.text()).toMatch(/^fairlead_credential_expiry_seconds 77\d{5}/m);
  expect(await metrics.text()).toMatch(/^fairlead_credentials\{state="good"\} 1$/m);
  expect(await metrics.text()).toMatch(/^pilot_sds_certificate_errors_total 3$/m);

  aheadMs = 85 * day;
  expect(await figures()).toMatchObject({ errors: 3, states: "expiring", leftDays: 5 });
  await figures();
  expect(events).toEqual([
    "Warning CertificateExpired of Secret cert",
    "Warning InvalidCertificate of Secret cert",
    "Warning CertificateExpiring of Secret cert",
  ]);
  expect(lines).toHaveLength(4);
  expect(lines.join()).not.toContain("PRIVATE KEY");
  session.close();
  await expect.poll(async () => (await figures()).states).toBe("");
});
