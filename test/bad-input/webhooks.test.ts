/** Table W on the webhook port itself: a real control plane on a real API, asked by clients that mean no good. */
import { Agent, type RequestOptions, request } from "node:https";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isRecord, readRecord, readText, webLimits } from "../../src/lib/index.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { openMesh } from "../cluster/mesh.ts";
import type { Plane } from "../cluster/plane.ts";
import { heldBytes } from "../held-bytes.ts";

let cluster: Cluster;
let plane: Plane;
beforeAll(async () => {
  ({ cluster, plane } = await openMesh());
}, 300_000);
afterAll(() => cluster.close());

interface Answer {
  readonly status: number;
  readonly body: string;
}

const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });

function post(path: string, body: string | Buffer | readonly Buffer[], options: RequestOptions = {}): Promise<Answer> {
  const { host, port } = plane.discovery.addresses.https;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const headers = { "content-type": "application/json", ...options.headers };
  const sent = request({ host, port, path, method: "POST", agent, ...options, headers }, (answer) => {
    const chunks: Buffer[] = [];
    answer.on("data", (chunk: Buffer) => chunks.push(chunk));
    answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
  });
  sent.on("error", reject);
  if (Array.isArray(body)) {
    for (const chunk of body) sent.write(chunk);
    sent.end();
  } else sent.end(body as string | Buffer);
  return promise;
}

const review = (object: unknown, more: object = {}): string =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "u-1", operation: "CREATE", namespace: "n", object, ...more },
  });
const good = {
  apiVersion: "networking.istio.io/v1",
  kind: "DestinationRule",
  metadata: { name: "d", namespace: "n" },
  spec: { host: "a" },
};
const pod = (metadata: object = {}, spec: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "n", ...metadata },
  spec: { containers: [{ name: "app", image: "app:1" }], ...spec },
});
/** What an AdmissionReview says; the port answers at all, whatever came before. */
const verdict = async (path: string, body: string): Promise<Readonly<Record<string, unknown>>> => {
  const answer = await post(path, body);
  expect(answer.status).toBe(200);
  return readRecord(readRecord(JSON.parse(answer.body)).response);
};
const stillServes = async (): Promise<void> => {
  expect((await verdict("/validate", review(good))).allowed).toBe(true);
};

const limit = 6 * 1024 * 1024;

describe.each(["/validate", "/inject"])("%s", (path) => {
  test("W01, R28: a body over 6 MiB, stated or endless, is refused with 413, and what comes next is served", async () => {
    const before = await heldBytes();
    expect((await post(path, Buffer.alloc(limit + 1, 32))).status).toBe(413);
    const mebibyte = Buffer.alloc(1024 * 1024, 32);
    const endless = post(
      path,
      Array.from({ length: 100 }, () => mebibyte),
      { agent: false, rejectUnauthorized: false },
    );
    // The answer, or the end of the connection while it was still being sent to.
    expect(
      await endless.then(
        ({ status }) => status,
        () => 413,
      ),
    ).toBe(413);
    expect((await heldBytes()) - before).toBeLessThan(50 * 1024 * 1024);
    await stillServes();
  });

  test("W01: wrong type, no body and gzip are told what they are", async () => {
    expect((await post(path, "{}", { headers: { "content-type": "text/plain" } })).status).toBe(415);
    expect((await post(path, Buffer.from([0x1f, 0x8b]), { headers: { "content-encoding": "gzip" } })).status).toBe(400);
    const empty = await post(path, "");
    expect(empty.status === 400 || readRecord(readRecord(JSON.parse(empty.body)).response).allowed === false).toBe(
      true,
    );
    await stillServes();
  });

  test.each([
    ["no JSON", "{"],
    ["a byte order mark", `\ufeff${review(good)}`],
    ["NaN", review(good).replace('"u-1"', "NaN")],
    [
      "a number beyond all",
      review({
        ...good,
        spec: { host: "a", trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } } },
      }).replace("7", "1e400"),
    ],
    [
      "2^63",
      review({
        ...good,
        spec: { host: "a", trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } } },
      }).replace("7", "9223372036854775808"),
    ],
  ])("W02: %s is a decoding error in an answer, never more", async (_, body) => {
    const answer = await post(path, body);
    if (answer.status === 200) expect(isRecord(readRecord(JSON.parse(answer.body)).response)).toBe(true);
    else expect(answer.status).toBe(400);
    await stillServes();
  });

  test.each([101, 1_000, 10_000, 1_000_000])("W04, R28: nesting of %d is refused", async (depth) => {
    const nested = `${"[".repeat(depth)}${"]".repeat(depth)}`;
    const body = review(good).replace('"host":"a"', `"host":"a","x":${nested}`);
    const answer = await post(path, body);
    if (answer.status === 200) expect(readRecord(readRecord(JSON.parse(answer.body)).response).allowed).toBe(false);
    else expect(answer.status).toBeLessThan(500);
    await stillServes();
  });
});

test("W01: who sends a byte now and then is not waited for", () => {
  expect(webLimits.headersMs).toBeLessThanOrEqual(10_000);
  expect(webLimits.stallMs).toBeLessThanOrEqual(30_000);
  expect(webLimits.requestMs).toBeLessThanOrEqual(60_000);
});

test("W02: a key that stands twice is refused in a policy; a lone surrogate changes nothing", async () => {
  const policy = review({
    apiVersion: "security.istio.io/v1",
    kind: "AuthorizationPolicy",
    metadata: { name: "p", namespace: "n" },
    spec: { action: "DENY", rules: [{}] },
  });
  expect(
    await verdict("/validate", policy.replace('"action":"DENY"', '"action":"DENY","action":"ALLOW"')),
  ).toMatchObject({
    allowed: false,
    status: { message: expect.stringContaining("duplicate field") },
  });
  const surrogate = review({ ...good, metadata: { ...good.metadata, annotations: { a: "X" } } }).replace(
    '"X"',
    '"\\ud800"',
  );
  expect((await verdict("/validate", surrogate)).uid).toBe("u-1");
});

test("misspelt fields of an EnvoyFilter's values are warned of, what does not fit is refused", async () => {
  const filter = (value: object): string =>
    review({
      apiVersion: "networking.istio.io/v1alpha3",
      kind: "EnvoyFilter",
      metadata: { name: "f", namespace: "n" },
      spec: { configPatches: [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value } }] },
    });
  const said = 'Envoy filter: unknown field "conect_timeout" in envoy.config.cluster.v3.Cluster';
  expect(await verdict("/validate", filter({ conect_timeout: "5s" }))).toMatchObject({
    allowed: true,
    warnings: expect.arrayContaining([said]),
  });
  expect(await verdict("/validate", filter({ connect_timeout: "soon" }))).toMatchObject({
    allowed: false,
    status: { message: expect.stringContaining("connect_timeout") },
  });
});

test.each([
  ["no request", JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" }), false],
  ["no uid", review(good, { uid: undefined }), true],
  ["another version", review(good).replace("admission.k8s.io/v1", "admission.k8s.io/v9"), false],
  ["null on CREATE", review(null), false],
  ["DELETE", review(null, { operation: "DELETE", oldObject: good }), true],
  ["DELETE of what is bad", review(null, { operation: "DELETE", oldObject: { ...good, spec: {} } }), true],
  ["a dry run", review(good, { dryRun: true }), true],
  ["only the object before", review(undefined, { oldObject: good }), false],
  ["a subresource", review(good, { operation: "UPDATE", subResource: "status" }), true],
] as const)("W03: %s gets a valid answer with its uid", async (_, body, allowed) => {
  const answer = await verdict("/validate", body);
  expect(answer.allowed).toBe(allowed);
  const asked = readText(readRecord(readRecord(JSON.parse(body)).request).uid);
  expect(readText(answer.uid)).toBe(asked);
});

const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "length", "then"];

test.each(names)("W06: %s as a key is data or refused, and no prototype is touched", async (name) => {
  const prototype = Object.getOwnPropertyNames(Object.prototype).sort();
  const keyed = (value: string): string => `{${JSON.stringify(name)}:${value}}`;
  const maps = [
    ["labels", keyed('"x"')],
    ["annotations", keyed('{"polluted":"yes"}')],
  ] as const;
  for (const [field, text] of maps)
    for (const path of ["/validate", "/inject"]) {
      const object =
        path === "/inject" ? pod({ [field]: "HERE" }) : { ...good, metadata: { ...good.metadata, [field]: "HERE" } };
      await verdict(path, review(object).replace('"HERE"', text));
    }
  for (const spec of [keyed('{"polluted":"yes"}'), `{"host":"a","subsets":[{"name":"s","labels":${keyed('"x"')}}]}`])
    await verdict("/validate", review({ ...good, spec: "HERE" }).replace('"HERE"', spec));
  expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(prototype);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  await stillServes();
});

describe("W12: injection", () => {
  const patched = async (
    object: object,
  ): Promise<{ allowed: unknown; patch: readonly Readonly<Record<string, unknown>>[]; message: string }> => {
    const response = await verdict("/inject", review(object));
    const text = Buffer.from(readText(response.patch), "base64").toString();
    const patch = text === "" ? [] : (JSON.parse(text) as Readonly<Record<string, unknown>>[]);
    return { allowed: response.allowed, patch, message: readText(readRecord(response.status).message) };
  };

  test("W12: a thousand containers stay, each of them", async () => {
    const containers = Array.from({ length: 1000 }, (_, i) => ({ name: `c${i}`, image: "x" }));
    const { allowed, patch } = await patched(pod({}, { containers }));
    expect(allowed).toBe(true);
    expect(
      patch.filter(({ op, path }) => op === "remove" || (op === "replace" && path === "/spec/containers")),
    ).toEqual([]);
  });

  test("W12: a huge annotation is carried along, one that is bad is refused by name", async () => {
    expect((await patched(pod({ annotations: { note: "x".repeat(200_000) } }))).allowed).toBe(true);
    const bad = await patched(pod({ annotations: { "sidecar.istio.io/interceptionMode": "x".repeat(200_000) } }));
    expect(bad.allowed).toBe(false);
    expect(bad.message).toContain("sidecar.istio.io/interceptionMode");
  });

  test("W12: a Pod in the host's network, and one that refuses, are left alone", async () => {
    expect((await patched(pod({}, { hostNetwork: true }))).patch).toEqual([]);
    expect((await patched(pod({ labels: { "sidecar.istio.io/inject": "false" } }))).patch).toEqual([]);
  });

  test("W12: a template that nobody has is refused by name, directives in texts are texts", async () => {
    const unknown = await patched(pod({ annotations: { "inject.istio.io/templates": "nope" } }));
    expect(unknown.message).toContain("nope");
    const { allowed, patch } = await patched(pod({ annotations: { note: '{{ .Values }}"\n---\nkind: Secret' } }));
    expect(allowed).toBe(true);
    expect(JSON.stringify(patch)).not.toContain("kind: Secret");
  });
});

test("W01: a connection that speaks no TLS, or stops in its handshake, costs nobody else", async () => {
  const { host, port } = plane.discovery.addresses.https;
  const sockets = Array.from({ length: 50 }, () =>
    connect({ host, port, rejectUnauthorized: false }).on("error", () => {}),
  );
  for (const socket of sockets) socket.write("nonsense\r\n\r\n");
  await stillServes();
  for (const socket of sockets) socket.destroy();
});
