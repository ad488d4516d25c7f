/** What the page tells whom: a control plane on a real API, asked by users with rights in one namespace, or in all. */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { connectProxy, type ScriptedProxy } from "../../src/control-plane/testing.ts";
import { startAgents, type TestAgents } from "../../src/control-plane/traffic/testing.ts";
import { routes } from "../../src/dashboard/index.ts";
import { Edge_Side } from "../../src/gen/fairlead/traffic_pb.js";
import { claimBearer, claimName, claimSigner, kindRef, kubeKinds } from "../../src/kube/index.ts";
import { kindOf } from "../../src/model/index.ts";
import { createCsr, generateKey } from "../../src/pki/index.ts";
import { ask, type DashboardPlane, signIn, startDashboardPlane } from "./dashboard-plane.ts";

let mesh: DashboardPlane;
let agents: TestAgents;
const proxies: ScriptedProxy[] = [];
/** Bearers: of who may see alpha alone, everything, and nothing. */
let [limited, all, stranger] = ["", "", ""];

const host = (namespace: string): string => `shop.${namespace}.svc.cluster.local`;

async function fill(namespace: string): Promise<void> {
  const { world } = mesh;
  await world.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const ports = [{ name: "http", port: 80 }];
  await world.create({
    ...{ apiVersion: "v1", kind: "Service", metadata: { name: "shop", namespace } },
    spec: { ports, selector: { app: "shop" } },
  });
  const networking = { apiVersion: "networking.istio.io/v1" };
  const metadata = { name: "shop", namespace };
  const route = [{ destination: { host: host(namespace) } }];
  await world.create({
    ...{ ...networking, kind: "VirtualService", metadata },
    spec: { hosts: [host(namespace)], http: [{ route }] },
  });
  // Speaks of the other namespace's host, so that what is said of either could name both.
  await world.create({
    ...{ ...networking, kind: "DestinationRule", metadata },
    spec: { host: "*.svc.cluster.local", trafficPolicy: { tls: { mode: "DISABLE" } } },
  });
  await world.create({
    ...{ ...networking, kind: "VirtualService", metadata: { name: "lost", namespace } },
    spec: { hosts: [`lost.${namespace}`], http: [{ route: [{ destination: { host: `gone.${namespace}` } }] }] },
  });
}

async function allow(account: string, namespace: string, bound: object, where: string): Promise<string> {
  const token = await agents.token(account, namespace, []);
  const subjects = [{ kind: "ServiceAccount", name: account, namespace }];
  await mesh.world.admin.raw("POST", `/apis/rbac.authorization.k8s.io/v1/${where}`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    metadata: { name: account },
    subjects,
    ...bound,
  });
  return token;
}

const read = ["get", "list", "watch"];

beforeAll(async () => {
  mesh = await startDashboardPlane({ analysis: true });
  agents = await startAgents(mesh.world);
  await fill("alpha");
  await fill("bravo");
  await mesh.world.admin.raw("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/alpha/roles", {
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name: "reader" } },
    rules: [{ apiGroups: ["", "networking.istio.io"], resources: ["*"], verbs: read }],
  });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" };
  limited = await allow("reader", "alpha", { kind: "RoleBinding", roleRef }, "namespaces/alpha/rolebindings");
  const admin = { ...roleRef, kind: "ClusterRole", name: "cluster-admin" };
  all = await allow("everything", "alpha", { kind: "ClusterRoleBinding", roleRef: admin }, "clusterrolebindings");
  stranger = await agents.token("stranger", "bravo", []);
  for (const name of ["web.alpha", "web.bravo"]) proxies.push(await connectProxy(mesh.plane(), name, ["80"]));
  const edge = (namespace: string) => ({
    ...{ side: Edge_Side.SOURCE, peer: { namespace, workload: `shop-${namespace}` } },
    ...{ service: { host: host(namespace), name: "shop", namespace }, counts: [200, 0, 100] },
  });
  for (const namespace of ["alpha", "bravo"]) await agents.certify(mesh.plane(), `caller-${namespace}`, namespace);
  for (const namespace of ["alpha", "bravo"])
    await agents.report(mesh.plane(), `caller-${namespace}`, namespace, [edge("alpha"), edge("bravo")]);
  // All is there once Envoys have been sent the routes of both.
  await vi.waitFor(
    async () => {
      expect(await told(all, "changes")).toContain("VirtualService/bravo/lost");
      expect(await told(all, "resources?proxy=web.alpha&type=RDS")).toContain("Service/bravo/shop");
    },
    { timeout: 120_000 },
  );
  const { rows } = JSON.parse(await told(all, "changes")) as { rows: { id: number; object: string }[] };
  for (const { id, object } of rows) if (object.endsWith("/shop")) changeIds.set(object.split("/")[1] ?? "", id);
});
afterAll(async () => {
  for (const proxy of proxies) proxy.close();
  agents.close();
  await mesh.close();
});

/** Of the VirtualService of each namespace. */
const changeIds = new Map<string, number>();

const asked = (bearer: string, path: string) =>
  ask(mesh.origin(), `/api/${path}`, { headers: { authorization: `Bearer ${bearer}` } });
const told = async (bearer: string, path: string): Promise<string> => (await asked(bearer, path)).text;

const post = async (bearer: string, route: string, body: string): Promise<string> =>
  (await ask(mesh.origin(), `/api/${route}`, { method: "POST", body, headers: { authorization: `Bearer ${bearer}` } }))
    .text;

/**
 * What is asked of each route, of the namespace that may be seen and of the other: a query, or the body of a POST. A route
 * that is not here fails.
 */
const questions: Readonly<Record<string, (namespace: string) => string>> = {
  overview: () => "",
  proxies: () => "",
  proxy: (namespace) => `id=web.${namespace}`,
  resources: (namespace) => `proxy=web.${namespace}&type=CDS`,
  resource: (namespace) => `proxy=web.${namespace}&type=CDS&name=outbound|80||${host(namespace)}`,
  search: (namespace) => `proxy=web.${namespace}&q=shop`,
  graph: (namespace) => `namespace=${namespace}&last=600`,
  why: (namespace) => JSON.stringify({ source: "web", namespace, destination: `${host(namespace)}:80` }),
  diff: (namespace) => JSON.stringify({ deleted: [`VirtualService/${namespace}/shop`], resources: true }),
  requests: (namespace) => `namespace=${namespace}`,
  workload: (namespace) => `id=${namespace}/shop-${namespace}&last=600`,
  namespaces: () => "",
  namespace: (namespace) => `id=${namespace}&last=600`,
  services: () => "",
  service: (namespace) => `id=${namespace}/${host(namespace)}&last=600`,
  objects: () => "",
  object: (namespace) => `id=VirtualService/${namespace}/shop`,
  changes: () => "",
  change: (namespace) => `id=${changeIds.get(namespace)}`,
  identities: () => "",
};

/** Whoever does not see all is told nothing, of their own namespaces neither. */
const ofAll: ReadonlySet<string> = new Set(["diff"]);
/** Nobody speaks here while they are listened to: what is told of live requests has a test of its own. */
const proofs: Readonly<Record<string, RegExp>> = { requests: /"session":"\w+"/ };

describe.each([...routes])("%s", (route, { hasBody = false }) => {
  const answerTo = (bearer: string, namespace: string): Promise<string> => {
    const question = questions[route]?.(namespace) ?? "no row";
    return hasBody ? post(bearer, route, question) : told(bearer, `${route}?${question}`);
  };

  test("says nothing of a namespace to who may not see it", async () => {
    expect(questions).toHaveProperty(route);
    for (const namespace of ["alpha", "bravo"]) {
      const answer = await answerTo(limited, namespace);
      expect(answer).not.toMatch(/bravo|^405 /);
      // Whoever may see nothing is told of neither.
      expect(await answerTo(stranger, namespace)).not.toMatch(/alpha|bravo|^405 /);
    }
  });

  test("tells whoever may see it, as the holder of the mesh's secret is told", async () => {
    const proof = (namespace: string): RegExp => proofs[route] ?? new RegExp(namespace);
    expect(await answerTo(limited, "alpha")).toMatch(ofAll.has(route) ? /"code":"forbidden"/ : proof("alpha"));
    for (const bearer of [all, await signIn(mesh)]) {
      const answer = await answerTo(bearer, "bravo");
      expect(answer).toMatch(proof("bravo"));
      expect(answer).not.toMatch(/^\{"(code|error)":/);
    }
  });
});

test("who asks why is told the same of what is hidden and of what does not exist", async () => {
  const { world } = mesh;
  await world.create({
    ...{ apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", metadata: { name: "api", namespace: "bravo" } },
    spec: {
      ...{ hosts: ["api.example.com"], resolution: "DNS" },
      ports: [
        { number: 8080, name: "http-one", protocol: "HTTP" },
        { number: 9090, name: "http-two", protocol: "HTTP" },
      ],
    },
  });
  const why = (bearer: string, source: string, destination: string) =>
    post(bearer, "why", JSON.stringify({ source, destination }));
  await vi.waitFor(async () => expect(await why(all, "web.alpha", "api.example.com")).toContain("http-two"), 120_000);
  const [unknown, ...others] = await Promise.all([
    why(limited, "web.zulu", host("alpha")),
    why(limited, "web.bravo", host("alpha")),
    why(limited, "web.alpha", "api.example.com"),
    why(limited, "web.alpha", "api.example.com:81"),
    why(limited, "web.alpha", "api.example.com:8080"),
    why(limited, "outside", "192.0.2.1:80"),
  ]);
  expect(unknown).toContain('"code":"forbidden"');
  expect(new Set(others)).toEqual(new Set([unknown]));
  expect(await why(limited, "web.alpha", "ftp://x")).toMatch(/"isOfQuestion":true/);
});

test("counts are of what is seen, and routes and dumps that name others are not shown", async () => {
  const { figures } = JSON.parse(await told(limited, "overview")) as { figures: { name: string; value: number }[] };
  const values = new Map(figures.map(({ name, value }) => [name, value]));
  expect([values.get("proxies"), values.get("services"), values.get("objects")]).toEqual([1, 1, 3]);
  for (const type of ["LDS", "RDS", "CDS", "EDS"]) {
    const { rows } = JSON.parse(await told(all, `resources?proxy=web.alpha&type=${type}`)) as {
      rows: { name: string }[];
    };
    for (const { name } of rows)
      expect(await told(limited, `resource?proxy=web.alpha&type=${type}&name=${name}`)).not.toContain("bravo");
  }
});

test("of a proxy whose name begins as a namespace that is seen is called, nothing is told", async () => {
  proxies.push(await connectProxy(mesh.plane(), "alpha.bravo", ["80"]));
  await vi.waitFor(async () => expect(await told(all, "resources?proxy=alpha&type=LDS")).toContain("rows"), 120_000);
  for (const path of ["resources?proxy=alpha&type=LDS", "search?proxy=alpha&q=listener"])
    expect((await asked(limited, path)).status, path).toBe(404);
});

test("who may not see objects of a kind cannot have them told as what would change", async () => {
  const rules = [{ apiGroups: [""], resources: ["pods", "services"], verbs: read }];
  await mesh.world.admin.raw("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "pods" }, rules },
  });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "pods" };
  const podsOnly = await allow("pods", "alpha", { kind: "ClusterRoleBinding", roleRef }, "clusterrolebindings");
  const body = JSON.stringify({ deleted: ["VirtualService/bravo/shop"], resources: true });
  expect(await post(podsOnly, "diff", body)).toContain('"code":"forbidden"');
  expect(await post(all, "diff", body)).toContain('"sentences"');
});

test("of what a change altered in proxies no bytes are told", async () => {
  const alphas = { name: "shop", namespace: "alpha" };
  const fault = { abort: { httpStatus: 418, percentage: { value: 1 } } };
  const route = [{ destination: { host: host("alpha") } }];
  const kind = kindOf("networking.istio.io/v1", "VirtualService");
  if (!kind) throw new Error("there is no such kind");
  await mesh.world.admin.patch(kindRef(kind), alphas, "merge", { spec: { http: [{ fault, route }] } });
  const newest = async (): Promise<Readonly<Record<string, unknown>>> => {
    const { changes } = JSON.parse(await told(all, "object?id=VirtualService/alpha/shop")) as {
      changes: Readonly<Record<string, unknown>>[];
    };
    return changes[0] ?? {};
  };
  await vi.waitFor(async () => expect(await newest()).toMatchObject({ act: "changed", touched: [{}] }), 120_000);
  const { id, ...fields } = await newest();
  const shown = ["act", "at", "author", "diff", "generation", "namespace", "object", "proxies", "touched", "untold"];
  expect(shown).toEqual(expect.arrayContaining(Object.keys(fields)));
  for (const bearer of [all, limited]) {
    const { rows } = JSON.parse(await told(bearer, "changes")) as { rows: { id: number }[] };
    expect([...shown, "id", "more", "less"]).toEqual(
      expect.arrayContaining(Object.keys(rows.find((row) => row.id === id) ?? { missing: true })),
    );
  }
});

test("a user without a token is who the API has noted, and nobody else can be", async () => {
  const secret = "s".repeat(43);
  const claim = async (name: string, signerName: string) =>
    mesh.world.admin.create(kubeKinds.certificateSigningRequests, {
      ...{ apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", metadata: { name } },
      spec: {
        ...{ signerName, usages: ["client auth"], username: "somebody-else" },
        request: Buffer.from(createCsr({ key: await generateKey() })).toString("base64"),
      },
    });
  expect((await asked(claimBearer(secret), "overview")).status).toBe(401);
  await claim(claimName(secret), claimSigner);
  // What nobody knew a moment ago is asked about again a moment later.
  const later = `${secret}x`;
  await claim(claimName(later), claimSigner);
  expect(await told(claimBearer(later), "services")).toContain("bravo");
  await claim(claimName(`${secret}y`), "example.com/other");
  expect((await asked(claimBearer(`${secret}y`), "overview")).status).toBe(401);
  expect((await asked(`${claimName(later)}`, "overview")).status).toBe(401);
});

test("tokens for others, and no tokens at all, are nobody's; too many at once wait", async () => {
  const forProxies = await agents.token("reader", "alpha");
  for (const bearer of [forProxies, "x", "eyJhbGciOiJub25lIn0.e30."])
    expect((await asked(bearer, "overview")).status).toBe(401);
  // More than a slow machine could ask about while they come.
  const statuses = await Promise.all(
    Array.from({ length: 400 }, async (_, i) => (await asked(`unknown-${i}`, "overview")).status),
  );
  expect(new Set(statuses)).toEqual(new Set([401, 503]));
  // Who was somebody is not kept out by them.
  expect((await asked(limited, "overview")).status).toBe(200);
});
