/** Admission through real HTTPS webhooks. */
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLogger } from "../lib/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../pki/index.ts";
import { startApi, type TestApi } from "./testing.ts";

interface Review {
  readonly request: {
    readonly uid: string;
    readonly operation: string;
    readonly name: string;
    readonly object: { readonly apiVersion: string; readonly metadata: { readonly name: string } };
    readonly kind: { readonly version: string };
    readonly dryRun: boolean;
    readonly userInfo: { readonly username: string };
  };
}

let api: TestApi;
let hook: Server;
let ca = "";
const lines: string[] = [];
let reviews: Review[] = [];
let respond: (review: Review) => object | undefined = () => ({ allowed: true });
/** Connections that are ended, without an answer, when they are used again. */
let ending: WeakSet<Socket> | undefined;

beforeAll(async () => {
  const log = createLogger({ write: (line) => void lines.push(line), now: () => new Date() });
  api = await startApi({ log });
  const [root, own] = [await generateKey(), await generateKey()];
  const common = { now: new Date(), ttlMs: 3600_000 };
  const authority = issueCertificate({
    ...common,
    profile: "ca",
    subject: { commonName: "hook-ca" },
    publicKey: root.publicKey,
    signer: { certificate: undefined, key: root.privateKey },
  });
  const certificate = issueCertificate({
    ...common,
    profile: "server",
    altNames: [
      { type: "ip", value: "127.0.0.1" },
      { type: "dns", value: "istiod.istio-system.svc" },
    ],
    publicKey: own.publicKey,
    signer: { certificate: authority, key: root.privateKey },
  });
  ca = Buffer.from(formatCertificate(authority)).toString("base64");
  hook = createServer(
    { cert: formatCertificate(certificate), key: formatPrivateKey(own.privateKey) },
    (request, response) => {
      if (ending?.has(request.socket)) return request.socket.destroy();
      ending?.add(request.socket);
      let text = "";
      request.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      request.on("end", () => {
        const review = JSON.parse(text) as Review;
        reviews.push(review);
        const answer = respond(review);
        if (answer)
          response.end(
            JSON.stringify({
              apiVersion: "admission.k8s.io/v1",
              kind: "AdmissionReview",
              response: { uid: review.request.uid, ...answer },
            }),
          );
      });
    },
  );
  await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  hook.closeAllConnections();
  hook.close();
  await api.close();
});
beforeEach(async () => {
  reviews = [];
  ending = undefined;
  respond = () => ({ allowed: true });
  for (const kind of ["mutating", "validating"])
    await api.call("DELETE", `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations/test`);
});

const configure = async (kind: "mutating" | "validating", webhook: object = {}): Promise<void> => {
  const url = `https://127.0.0.1:${(hook.address() as AddressInfo).port}/${kind}`;
  const answer = await api.call("POST", `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`, {
    metadata: { name: "test" },
    webhooks: [
      {
        name: "test.example.com",
        clientConfig: { url, caBundle: ca },
        rules: [
          {
            operations: ["CREATE", "UPDATE", "DELETE"],
            apiGroups: ["", "networking.istio.io"],
            apiVersions: ["v1"],
            resources: ["configmaps", "virtualservices"],
          },
        ],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        ...webhook,
      },
    ],
  });
  expect(answer.code).toBe(201);
};
const path = "/api/v1/namespaces/default/configmaps";
const create = (name: string, labels: object = {}, query = "") =>
  api.call("POST", `${path}${query}`, { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels } });

describe("validating webhooks", () => {
  test.each([
    ["a cloud's metadata", "https://169.254.169.254/latest", "169.254.169.254"],
    ["the same in IPv6", "https://[::ffff:169.254.169.254]/", "169.254.169.254"],
    ["a query", "https://127.0.0.1:1/?a=b", "not permitted"],
    ["a password", "https://a:b@127.0.0.1:1/", "not permitted"],
    ["plain text", "http://127.0.0.1:1/", "not https"],
  ])("a webhook at %s is not called", async (_, url, why) => {
    await configure("validating", { clientConfig: { url, caBundle: ca } });
    const answer = await create("unreachable");
    expect(answer.code).toBe(500);
    expect(JSON.stringify(answer.body)).toContain(why);
    expect(reviews).toEqual([]);
  });

  test("a connection that ends just as it is used again fails no request", async () => {
    await configure("validating");
    ending = new WeakSet();
    for (const name of ["first", "second", "third"]) expect((await create(name)).code).toBe(201);
    expect(reviews.map(({ request }) => request.name)).toEqual(["first", "second", "third"]);
  });

  test("refuse with their own words, and see who asks", async () => {
    await configure("validating");
    respond = () => ({ allowed: false, status: { code: 403, message: "not on a Sunday" } });
    const answer = await create("sunday");
    expect([answer.code, answer.body.message]).toEqual([
      403,
      'admission webhook "test.example.com" denied the request: not on a Sunday',
    ]);
    expect(reviews[0]?.request).toMatchObject({
      operation: "CREATE",
      name: "sunday",
      userInfo: { username: "fairlead:admin" },
    });
    expect((await api.call("GET", `${path}/sunday`)).code).toBe(404);
  });

  test("warn", async () => {
    await configure("validating");
    respond = () => ({ allowed: true, warnings: ["this is old"] });
    expect((await create("warned")).warnings).toContain("this is old");
  });

  test("see deletes, and other versions of the kind as the one they asked for", async () => {
    await configure("validating");
    const old = "/apis/networking.istio.io/v1alpha3/namespaces/default/virtualservices";
    await api.call("POST", old, {
      apiVersion: "networking.istio.io/v1alpha3",
      kind: "VirtualService",
      metadata: { name: "v" },
      spec: { hosts: ["a"] },
    });
    await api.call("DELETE", `${old}/v`);
    expect(reviews.map((r) => [r.request.operation, r.request.kind.version])).toEqual([
      ["CREATE", "v1"],
      ["DELETE", "v1"],
    ]);
    expect(reviews[0]?.request.object.apiVersion).toBe("networking.istio.io/v1");
  });

  test("select by namespace and object", async () => {
    await configure("validating", {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } },
    });
    await create("elsewhere");
    expect(reviews).toEqual([]);
    await api.call("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/test");
    await configure("validating", { objectSelector: { matchLabels: { check: "me" } } });
    await create("unlabelled");
    await create("labelled", { check: "me" });
    expect(reviews.map((r) => r.request.name)).toEqual(["labelled"]);
  });

  test("that cannot be reached: the failure policy decides", async () => {
    await configure("validating", { clientConfig: { url: "https://127.0.0.1:1/none", caBundle: ca } });
    const answer = await create("unreached");
    expect([answer.code, String(answer.body.message)]).toEqual([
      500,
      expect.stringMatching(/failed calling webhook "test.example.com".*failurePolicy is Fail/),
    ]);
    await api.call("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/test");
    await configure("validating", {
      failurePolicy: "Ignore",
      clientConfig: { url: "https://127.0.0.1:1/none", caBundle: ca },
    });
    expect((await create("ignored")).code).toBe(201);
  });

  test("that fall silent are one line of the log, and one when they answer again", async () => {
    const configuration = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/test";
    await configure("validating");
    expect((await create("calm")).code).toBe(201);
    await api.call("DELETE", configuration);
    const before = lines.length;
    await configure("validating", { clientConfig: { url: "https://127.0.0.1:1/none", caBundle: ca } });
    for (const name of ["a", "b", "c"]) expect((await create(`silent-${name}`)).code).toBe(500);
    await api.call("DELETE", configuration);
    await configure("validating");
    expect((await create("heard")).code).toBe(201);
    const told = lines.slice(before).filter((line) => line.includes("webhook"));
    expect(told).toHaveLength(2);
    expect(told[0]).toContain("webhook test.example.com cannot be asked");
    expect(told[1]).toMatch(/webhook test.example.com answers again.*3/);
  });

  test("with another CA are not trusted", async () => {
    const clientConfig = {
      url: `https://127.0.0.1:${(hook.address() as AddressInfo).port}/`,
      caBundle: Buffer.from(api.server.ca).toString("base64"),
    };
    await configure("validating", { clientConfig });
    expect((await create("untrusted")).code).toBe(500);
    expect(reviews).toEqual([]);
  });

  test("that do not answer in time", async () => {
    await configure("validating", { timeoutSeconds: 1 });
    respond = () => undefined;
    const answer = await create("slow");
    expect([answer.code, String(answer.body.message)]).toEqual([
      500,
      expect.stringMatching(/deadline exceeded.*failurePolicy is Fail/),
    ]);
    await api.call("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/test");
    await configure("validating", { timeoutSeconds: 1, failurePolicy: "Ignore" });
    expect((await create("slow-ignored")).code).toBe(201);
  });

  test("are told of a dry run; one with side effects makes it impossible", async () => {
    await configure("validating");
    expect((await create("dry", {}, "?dryRun=All")).code).toBe(201);
    expect(reviews[0]?.request.dryRun).toBe(true);
    await api.call("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/test");
    await configure("validating", { sideEffects: "Some" });
    expect((await create("dry", {}, "?dryRun=All")).code).toBe(400);
  });

  test("are reached through a Service's endpoints", async () => {
    const { port } = hook.address() as AddressInfo;
    await api.call("POST", "/api/v1/namespaces", { metadata: { name: "istio-system" } });
    await api.call("POST", "/api/v1/namespaces/istio-system/services", {
      metadata: { name: "istiod" },
      spec: { ports: [{ name: "https-webhook", port: 443 }] },
    });
    await api.call("POST", "/apis/discovery.k8s.io/v1/namespaces/istio-system/endpointslices", {
      metadata: { name: "istiod-1", labels: { "kubernetes.io/service-name": "istiod" } },
      addressType: "IPv4",
      ports: [{ name: "https-webhook", port }],
      endpoints: [{ addresses: ["127.0.0.1"] }],
    });
    await configure("validating", {
      clientConfig: { service: { name: "istiod", namespace: "istio-system", path: "/validate" }, caBundle: ca },
    });
    expect((await create("by-service")).code).toBe(201);
    expect(reviews).toHaveLength(1);
  });
});

describe("mutating webhooks", () => {
  test("change the object, and what they make of it is checked again", async () => {
    await configure("mutating");
    const patch = (operations: object[]): object => ({
      allowed: true,
      patchType: "JSONPatch",
      patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
    });
    respond = () => patch([{ op: "add", path: "/data", value: { injected: "yes" } }]);
    expect((await create("mutated")).body.data).toEqual({ injected: "yes" });
    respond = () => patch([{ op: "add", path: "/data", value: { bad: 1 } }]);
    expect((await create("mutated-badly")).code).toBe(400);
    respond = () => patch([{ op: "remove", path: "/nothing/here" }]);
    expect((await create("mutated-wrongly")).code).toBe(422);
  });
});
