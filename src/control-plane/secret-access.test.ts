import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { silentLogger } from "../lib/index.ts";
import { bytesOf, type Identity, type KubeObject, types } from "../model/index.ts";
import type { ProxyNode, ProxySession } from "../xds/index.ts";
import { type ControlledApi, startControlledApi } from "./controllers/testing.ts";
import { proxyOfNode } from "./proxy-of-node.ts";
import { createSecretAccess } from "./secret-access.ts";
import { type ControlledSource, createResourceSource } from "./source/resource-source.ts";
import { createStages } from "./stages.ts";

const cluster = "Kubernetes";
const core = (plural: string, kind: string, namespaced = true) => ({
  group: "",
  version: "v1",
  plural,
  kind,
  namespaced,
});
const rbac = (plural: string, kind: string) => ({
  ...core(plural, kind),
  group: "rbac.authorization.k8s.io",
});
const encode = (text: string): string => Buffer.from(text).toString("base64");
const privateKey = "-----BEGIN PRIVATE KEY-----secret-of-b-----END PRIVATE KEY-----";
const certificate = "-----BEGIN CERTIFICATE-----of-b-----END CERTIFICATE-----";

const role = (namespace: string): KubeObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  metadata: { name: "reader", namespace },
  rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["list"] }],
});
const binding = (namespace: string, account: string): KubeObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  metadata: { name: "reader", namespace },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
  subjects: [{ kind: "ServiceAccount", name: account, namespace }],
});
const node = (namespace: string, metadata: Readonly<Record<string, unknown>> = {}): ProxyNode => ({
  id: `router~10.0.0.1~gw-0.${namespace}~${namespace}.svc.cluster.local`,
  cluster: "gw",
  metadata: { NAMESPACE: namespace, CLUSTER_ID: cluster, LABELS: { app: "gw" }, ...metadata },
  locality: { region: "", zone: "", subZone: "" },
  extensions: new Set(),
  userAgent: "",
});
const account = (namespace: string, serviceAccount: string): Identity => ({
  trustDomain: "cluster.local",
  namespace,
  serviceAccount,
});

describe("who may read Secrets", () => {
  let world: ControlledApi;
  let source: ControlledSource;
  const sessions: ProxySession[] = [];

  /** A connected proxy, and a promise of the next time that it is told of changed secrets. */
  const connect = (of: ProxyNode, identity: Identity | undefined) => {
    const told: (() => void)[] = [];
    const session = source.connect(of, identity, (changed) => {
      if (!changed || changed.has(types.secret)) for (const resolve of told.splice(0)) resolve();
    });
    sessions.push(session);
    return {
      session,
      text: (name: string): string =>
        Buffer.from(bytesOf(session.get(types.secret, name) ?? { pieces: [] })).toString("latin1"),
      news: () => new Promise<void>((resolve) => told.push(resolve)),
    };
  };

  beforeAll(async () => {
    world = await startControlledApi();
    const { graph, client, admin, objects } = world;
    for (const namespace of ["a", "b"]) {
      await admin.create(core("namespaces", "Namespace", false), {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: namespace },
      });
      await admin.create(rbac("roles", "Role"), role(namespace));
      await admin.create(rbac("rolebindings", "RoleBinding"), binding(namespace, "gw"));
    }
    const secret = (name: string, namespace: string, key: string): KubeObject => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace },
      type: "kubernetes.io/tls",
      data: { "tls.crt": encode(certificate), "tls.key": encode(key) },
    });
    await admin.create(core("secrets", "Secret"), secret("cert", "b", privateKey));
    await admin.create(core("secrets", "Secret"), secret("own", "a", "key-of-a"));
    const access = createSecretAccess({
      graph,
      client,
      cluster,
      log: silentLogger,
      signal: world.stop.signal,
      allowedMs: 50,
      deniedMs: 50,
    });
    const stages = createStages({
      graph,
      objects,
      domain: "cluster.local",
      cluster,
      configMap: "istio-system/istio",
      maySeeSecrets: access.allows,
    });
    await world.synced();
    const context = { mesh: stages.mesh, registry: stages.registry, domain: "cluster.local", cluster };
    source = createResourceSource({
      mesh: stages.mesh,
      proxyOf: (one, identity) => proxyOfNode(one, context, identity),
      classOf: stages.classOf,
      admit: access.hold,
      debounceMs: 1,
      debounceMaxMs: 10,
      onFault: (_proxy, { error }) => {
        throw error;
      },
    });
  });
  afterAll(async () => {
    for (const session of sessions) session.close();
    source.close();
    await world.close();
  });

  test("nothing before the API has answered, the key after, and nothing again once the right is taken away", async () => {
    const { text, news } = connect(node("b"), account("b", "gw"));
    const allowed = news();
    expect(text("kubernetes://cert")).toBe("");
    await allowed;
    expect(text("kubernetes://cert")).toContain(privateKey);
    const denied = news();
    await world.admin.delete(rbac("rolebindings", "RoleBinding"), { name: "reader", namespace: "b" });
    await denied;
    expect(text("kubernetes://cert")).toBe("");
    const again = news();
    await world.admin.create(rbac("rolebindings", "RoleBinding"), binding("b", "gw"));
    await again;
    expect(text("kubernetes://cert")).toContain(privateKey);
  });

  test("R22: while one proxy has the key, no other name, namespace, account or cluster gets a byte of it", async () => {
    const hot = connect(node("b"), account("b", "gw"));
    const warm = hot.news();
    if (hot.text("kubernetes://cert") === "") await warm;
    expect(hot.text("kubernetes://cert")).toContain(privateKey);
    const neighbour = connect(node("a"), account("a", "gw"));
    const allowed = neighbour.news();
    if (neighbour.text("kubernetes://own") === "") await allowed;
    expect(neighbour.text("kubernetes://own")).toContain("key-of-a");
    const others = [
      neighbour,
      connect(node("b"), account("b", "default")),
      connect(node("b", { CLUSTER_ID: "elsewhere" }), account("b", "gw")),
      connect(node("b", { SERVICE_ACCOUNT: "gw" }), undefined),
    ];
    const names = variants();
    expect(names.length).toBeGreaterThanOrEqual(1000);
    for (const other of others)
      for (const name of names) {
        const text = other.text(name);
        expect(text.includes("secret-of-b") || text.includes("of-b"), `${JSON.stringify(name)} leaks`).toBe(false);
      }
    expect(hot.text("kubernetes://cert")).toContain(privateKey);
    // The same names from who may read: only exact ones of its own namespace.
    const readable = names.filter((name) => hot.text(name).includes("secret-of-b"));
    expect(readable.sort()).toEqual(["kubernetes://b/cert", "kubernetes://cert"]);
  });
});

/** Ways to write the Secret `cert` of namespace `b`, most of them wrong. */
function variants(): readonly string[] {
  const schemes = [
    "kubernetes://",
    "kubernetes-gateway://",
    "kubernetes:///",
    "KUBERNETES://",
    "kubernetes:/",
    "secret://",
    "file://",
    "",
    "builtin://",
    "invalid://",
    "kubernetes://x@",
  ];
  const namespaces = [
    "",
    "b/",
    "/b/",
    "b//",
    "../b/",
    "a/../b/",
    "./b/",
    "b%2F",
    "b%2f",
    "%62/",
    "B/",
    "b\u0000/",
    "b /",
    "\tb/",
    "b\\",
    "b;",
    "b?x=/",
    "a,b/",
    "*/",
    "b/b/",
    "..%2fb/",
    "\uff42/",
  ];
  const names = ["cert", "cert-cacert", "CERT", "cert/", "%63ert", "cert\u0000", "cert.", "cert#x"];
  return [
    ...new Set(
      schemes.flatMap((scheme) => namespaces.flatMap((space) => names.map((name) => `${scheme}${space}${name}`))),
    ),
  ];
}
