/** What the control plane is asked: certificates, streams of strange proxies, debug paths, webhooks, huge objects of users. */
import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { connectProxy } from "../../../src/control-plane/testing.ts";
import { DeltaDiscoveryRequestSchema } from "../../../src/gen/envoy/service/discovery/v3/discovery_pb.js";
import { IstioCertificateRequestSchema, IstioCertificateService } from "../../../src/gen/istio/auth_pb.js";
import { types } from "../../../src/model/index.ts";
import { createCsr, generateKey } from "../../../src/pki/index.ts";
import { createRpcClient, protoMethod, rawCodec } from "../../../src/rpc/index.ts";
import { deltaMethod } from "../../../src/xds/index.ts";
import { type Measured, numbered, repeat } from "../kind.ts";
import type { World } from "../world.ts";
import { type LargeObject, objects } from "./objects.ts";

const core = "/api/v1/namespaces/default";

export async function* planeRequests(world: World): AsyncGenerator<Measured> {
  const ca = await rootOf(world);
  yield* certificates(world, ca);
  yield* nodes(world);
  yield* webhooks(world, ca);
  const proxies = await Promise.all(
    repeat(20, (i) => connectProxy({ addresses: world.plane }, `p${i}.default`, ["80"])),
  );
  yield* debugPaths(world);
  yield* inTheMesh(world);
  for (const proxy of proxies) proxy.close();
}

async function rootOf({ call }: World): Promise<string> {
  const { body } = await call("GET", "/api/v1/namespaces/istio-system/secrets/istio-ca-secret");
  const { data = {} } = body as { data?: Readonly<Record<string, string>> };
  return Buffer.from(data["ca-cert.pem"] ?? "", "base64").toString();
}

async function* certificates(world: World, ca: string): AsyncGenerator<Measured> {
  await world.call("POST", `${core}/serviceaccounts`, { metadata: { name: "web" } });
  const { body } = await world.call("POST", `${core}/serviceaccounts/web/token`, { spec: { audiences: ["istio-ca"] } });
  const { token = "" } = (body.status ?? {}) as { readonly token?: string };
  const key = await generateKey();
  const csr = createCsr({ key });
  const method = protoMethod(IstioCertificateService.method.createCertificate);
  const asked = (name: string, pem: () => string, bearer = token): Measured => ({
    name,
    of: "plane",
    async run() {
      const client = createRpcClient({ target: world.plane.secureGrpc, tls: () => ({ ca }) });
      try {
        const sent = create(IstioCertificateRequestSchema, { csr: pem(), validityDuration: 3600n });
        return `${(await client.unary(method, sent, { metadata: { authorization: `Bearer ${bearer}` } })).certChain.length} certificates`;
      } finally {
        client.close();
      }
    },
  });
  const names = repeat(50_000, (i) => ({ type: "uri" as const, value: `spiffe://cluster.local/ns/a/sa/b${i}` }));
  const jwt = (claims: string): string => `eyJhbGciOiJSUzI1NiJ9.${Buffer.from(claims).toString("base64url")}.AAAA`;
  yield asked("a certificate request", () => csr);
  yield asked("a certificate request of 50,000 names", () => createCsr({ key, altNames: names }));
  yield asked("a certificate request of 4 MB of base64", () => `${csr.slice(0, 60)}${"QUFB\n".repeat(780_000)}`);
  yield asked("a certificate request of 200,000 parts", () => "-----BEGIN A-----\n".repeat(200_000));
  yield asked("a token of 30 kB", () => csr, "a.".repeat(15_000));
  yield asked("a JWT of 20,000 brackets", () => csr, jwt("[".repeat(20_000)));
  yield asked("a JWT of 2,000 claims", () => csr, jwt(JSON.stringify(numbered(2_000, 1))));
}

async function* nodes(world: World): AsyncGenerator<Measured> {
  const asked = (
    name: string,
    metadata: () => JsonObject,
    id = "sidecar~10.0.0.9~x.default~default.svc.cluster.local",
  ): Measured => ({
    name,
    of: "plane",
    async run() {
      const rpc = createRpcClient({ target: world.plane.grpc });
      try {
        const stream = await rpc.stream(deltaMethod);
        await stream.send(
          create(DeltaDiscoveryRequestSchema, { node: { id, metadata: metadata() }, typeUrl: types.cluster }),
        );
        for await (const { resources } of stream.messages) return `${resources.length} clusters`;
        return "nothing";
      } finally {
        rpc.close();
      }
    },
  });
  const deep = (levels: number): JsonObject =>
    repeat(levels, () => 0).reduce<JsonObject>((inner) => ({ a: inner }), {});
  yield asked("a node of 60,000 labels", () => ({ LABELS: numbered(60_000, "x") as JsonObject }));
  yield asked("a node of 15,000 labels", () => ({ LABELS: numbered(15_000, "x") as JsonObject }));
  yield asked("a node of 100,000 further facts", () => numbered(100_000, "x") as JsonObject);
  yield asked("a node of 90 levels", () => ({ LABELS: deep(90) }));
  yield asked("a node of 3 MB of ProxyConfig", () => ({
    PROXY_CONFIG: { proxyMetadata: { A: "x".repeat(3_000_000) } },
  }));
  yield asked("a node of 10,000 addresses", () => ({
    INSTANCE_IPS: repeat(10_000, (i) => `10.0.${i >> 8}.${i & 255}`).join(","),
  }));
  yield asked("a node with a name of 3 MB", () => ({}), `sidecar~10.0.0.9~${"x".repeat(3_000_000)}.default~d`);
  yield {
    name: "a node of 1,300,000 extensions of nothing",
    of: "plane",
    async run() {
      const rpc = createRpcClient({ target: world.plane.grpc });
      try {
        const stream = await rpc.stream({ ...deltaMethod, request: rawCodec });
        await stream.send([emptyExtensions()]);
        return String((await stream.messages.next()).value);
      } finally {
        rpc.close();
      }
    },
  };
  const names = repeat(100_000, (i) => `outbound|80||s${i}.default.svc.cluster.local`);
  yield {
    name: "a subscription to 100,000 clusters",
    of: "plane",
    async run() {
      const rpc = createRpcClient({ target: world.plane.grpc });
      try {
        const stream = await rpc.stream(deltaMethod);
        const node = { id: "sidecar~10.0.0.8~y.default~default.svc.cluster.local" };
        for (const typeUrl of [types.cluster, types.endpoint, types.route])
          await stream.send(
            create(DeltaDiscoveryRequestSchema, { node, typeUrl, resourceNamesSubscribe: names.slice(0, 60_000) }),
          );
        for await (const { typeUrl, resources } of stream.messages)
          if (typeUrl === types.route) return `${resources.length} routes`;
        return "nothing";
      } finally {
        rpc.close();
      }
    },
  };
}

async function* debugPaths(world: World): AsyncGenerator<Measured> {
  const base = `http://127.0.0.1:${world.plane.monitoring.port}`;
  const asked = (path: string): Measured => ({
    name: `asked for ${path}`,
    of: "plane",
    async run() {
      const answer = await fetch(`${base}${path}`);
      return `${answer.status}, ${(await answer.text()).length} characters`;
    },
  });
  yield asked("/metrics");
  const { paths } = await fillMesh(world, base);
  for (const path of paths) yield asked(`/debug/${path}`);
  for (const path of paths) yield asked(`/debug/${path}?proxyID=p1.default`);
  yield asked("/metrics");
}

/** Services with endpoints, so that there is something to show. */
async function fillMesh({ call }: World, base: string): Promise<{ readonly paths: readonly string[] }> {
  for (let i = 0; i < 400; i += 20)
    await Promise.all(
      repeat(20, async (k) => {
        const name = `s${i + k}`;
        await call("POST", `${core}/services`, {
          metadata: { name },
          spec: { ports: [{ name: "http", port: 80 }], clusterIP: `10.96.${(i + k) >> 7}.${((i + k) & 127) + 1}` },
        });
        await call("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
          metadata: { name, labels: { "kubernetes.io/service-name": name } },
          addressType: "IPv4",
          endpoints: repeat(10, (e) => ({ addresses: [`10.1.${i & 255}.${e * 20 + k}`], conditions: { ready: true } })),
          ports: [{ name: "http", port: 8080 }],
        });
      }),
    );
  await sleep(1_000);
  return { paths: (await (await fetch(`${base}/debug/list`)).json()) as string[] };
}

async function* webhooks(world: World, ca: string): AsyncGenerator<Measured> {
  const asked = (name: string, path: string, body: () => object): Measured => ({
    name,
    of: "plane",
    run: () => post(`https://127.0.0.1:${world.plane.https.port}${path}`, ca, JSON.stringify(body())),
  });
  const review = (kind: object, object: object): object => ({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "u", operation: "CREATE", kind, namespace: "default", object },
  });
  for (const { name, apiVersion, kind, make } of objects) {
    const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
    const whole = (): object => ({ apiVersion, kind, ...make(), metadata: { ...make().metadata, name: "x" } });
    if (group.endsWith("istio.io"))
      yield asked(`${name}, validated`, "/validate", () => review({ group, version, kind }, whole()));
    if (kind === "Pod") yield asked(`${name}, injected`, "/inject", () => review({ group, version, kind }, whole()));
  }
}

function post(url: string, ca: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: "POST", ca, servername: "istiod.istio-system.svc", headers: { "content-type": "application/json" } },
      (answer) => {
        let length = 0;
        answer.on("data", (chunk: Buffer) => (length += chunk.length)).on("error", reject);
        answer.on("end", () => resolve(`${answer.statusCode}, ${length} bytes`));
      },
    );
    sent.on("error", reject).end(body);
  });
}

/** Huge objects of users while proxies are connected: checked, rendered, sent, and their status written. */
function* inTheMesh(world: World): Generator<Measured> {
  for (const object of objects.filter(({ apiVersion }) =>
    /^(networking\.istio|security\.istio|telemetry|gateway)/.test(apiVersion),
  ))
    yield { name: `${object.name}, in the mesh`, of: "plane", run: () => live(world, object) };
}

async function live({ call }: World, { id, path, apiVersion, kind, make }: LargeObject): Promise<string> {
  const { code, body } = await call("POST", path, { apiVersion, kind, ...make(), metadata: { name: id } });
  if (code >= 400) return `${code} ${String(body.message)}`;
  let conditions = 0;
  for (let i = 0; i < 30 && conditions === 0; i++) {
    await sleep(100);
    const { status } = (await call("GET", `${path}/${id}`)).body as { status?: { conditions?: unknown[] } };
    conditions = status?.conditions?.length ?? 0;
  }
  await sleep(300);
  await call("DELETE", `${path}/${id}`);
  await sleep(300);
  return `${code}, ${conditions} conditions`;
}

/** A request whose node has field 9, two bytes long, for 2.6 MB. */
function emptyExtensions(): Buffer {
  const extensions = Buffer.alloc(2_600_000, Buffer.from([9 * 8 + 2, 0]));
  const head = Buffer.from([1 * 8 + 2, 0x80, 0x80, 0x80, 0x00]);
  for (let [i, rest] = [1, extensions.length]; i < head.length; i++, rest >>>= 7)
    head[i] = (rest & 0x7f) | (i < head.length - 1 ? 0x80 : 0);
  return Buffer.concat([head, extensions]);
}
