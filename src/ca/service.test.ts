import { createHmac, createSign, generateKeyPairSync, type X509Certificate } from "node:crypto";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IstioCertificateRequestSchema, IstioCertificateService } from "../gen/istio/auth_pb.js";
import { createLogger } from "../lib/index.ts";
import type { Identity } from "../model/index.ts";
import { createCsr, formatCertificate, generateKey, type KeyPair, parseCertificate, uriNames } from "../pki/index.ts";
import { createRpcClient, createRpcServer, protoMethod, type RpcServer, status } from "../rpc/index.ts";
import { type CertificateAuthority, createCertificateAuthority } from "./authority.ts";
import { bindingOf, lifeMs } from "./binding.ts";
import type { CaCounter } from "./metrics.ts";
import { createRateLimit } from "./rate-limit.ts";
import { createCertificateService, type TokenBearer } from "./service.ts";
import { createSelfSignedBundle } from "./signing-bundle.ts";
import { createOwnSigner } from "./workload-signer.ts";

const method = protoMethod(IstioCertificateService.method.createCertificate);
const signing = generateKeyPairSync("rsa", { modulusLength: 2048 });
const now = (): Date => new Date();
const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const claims = {
  iss: "https://issuer",
  aud: "istio-ca",
  sub: "system:serviceaccount:foo:bar",
  exp: Math.floor(Date.now() / 1000) + 600,
};

function token(payload: object = claims, header: object = { alg: "RS256", kid: "1" }): string {
  const text = `${base64(header)}.${base64(payload)}`;
  return `${text}.${createSign("sha256").update(text).sign(signing.privateKey).toString("base64url")}`;
}

/** Stands for TokenReview, which other rooms ask: real signatures, audience and times. */
async function judge(bearer: string): Promise<TokenBearer> {
  const { payload } = await jwtVerify(bearer, signing.publicKey, {
    issuer: "https://issuer",
    audience: "istio-ca",
    algorithms: ["RS256"],
  });
  const [, , namespace = "", serviceAccount = ""] = (payload.sub ?? "").split(":");
  const pod = typeof payload["pod"] === "string" ? { name: payload["pod"], uid: payload["pod"] } : undefined;
  return { identity: { trustDomain: "cluster.local", namespace, serviceAccount }, binding: { account: "", pod } };
}

describe("the certificate service over TLS", () => {
  let authority: CertificateAuthority;
  let server: RpcServer;
  let port: number;
  let key: KeyPair;
  const counts = new Map<CaCounter, number>();
  let log = "";

  beforeAll(async () => {
    key = await generateKey();
    authority = createCertificateAuthority({
      bundle: await createSelfSignedBundle({ organization: "cluster.local", now: now() }),
      now,
    });
    const service = createCertificateService({
      acceptsPeer: () => true,
      signer: createOwnSigner(authority),
      authenticate: judge,
      stillThere: async ({ namespace }, binding) => {
        if (namespace === "unreachable") throw new Error("the API does not answer");
        return namespace !== "gone" && binding?.pod?.name !== "gone";
      },
      rateLimit: createRateLimit({
        perHolder: { burst: 1000, perSecond: 1 },
        perAccount: { burst: 4000, perSecond: 1 },
        total: { burst: 5000, perSecond: 1 },
        // Stands still, so that a slow machine is allowed no more.
        monotonicMs: () => 0,
      }),
      metrics: { count: (name) => counts.set(name, (counts.get(name) ?? 0) + 1) },
      log: createLogger({ write: (line) => (log += `${line}\n`), now }),
    });
    const serving = await authority.issueServing({ dns: ["istiod.istio-system.svc"], addresses: ["127.0.0.1"] });
    server = createRpcServer({
      routes: [service],
      tls: { ...serving, clientCa: authority.roots() },
      log: createLogger({ write: () => {}, now }),
    });
    port = (await server.listen({ host: "127.0.0.1", port: 0 })).port;
  });
  afterAll(() => server.close());

  async function call(
    request: MessageInitShape<typeof IstioCertificateRequestSchema>,
    headers: Readonly<Record<string, string>>,
  ): Promise<readonly string[]> {
    const client = createRpcClient({
      target: { host: "127.0.0.1", port },
      tls: () => ({ ca: authority.roots(), serverName: "istiod.istio-system.svc" }),
      metadata: async () => headers,
    });
    try {
      const message = create(IstioCertificateRequestSchema, { csr: createCsr({ key }), ...request });
      return (await client.unary(method, message, { timeoutMs: 10_000 })).certChain;
    } finally {
      client.close();
    }
  }
  const withToken = (bearer: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${bearer}` });

  test("a good token and request give the caller's certificate, then the root", async () => {
    const [leaf = "", root = "", ...rest] = await call({}, withToken(token()));
    expect(uriNames(parseCertificate(leaf))).toEqual(["spiffe://cluster.local/ns/foo/sa/bar"]);
    expect(parseCertificate(root).ca).toBe(true);
    expect(rest).toEqual([]);
    expect(counts.get("citadel_server_success_cert_issuance_count")).toBe(1);
    expect(log).toContain("spiffe://cluster.local/ns/foo/sa/bar");
    expect(log).not.toContain("eyJ");
    expect(log).not.toContain("BEGIN CERTIFICATE");
  });

  const publicPem = signing.publicKey.export({ type: "spki", format: "pem" }).toString();
  const unsigned = `${base64({ alg: "HS256" })}.${base64(claims)}`;
  const soon = Math.floor(Date.now() / 1000) + 600;
  const bad: readonly [string, Readonly<Record<string, string>>][] = [
    ["no token", {}],
    ["an empty token", { authorization: "Bearer " }],
    ["another scheme", { authorization: `Basic ${token()}` }],
    ["an expired token", withToken(token({ ...claims, exp: 1 }))],
    ["one that is not valid yet", withToken(token({ ...claims, nbf: soon }))],
    ["another audience", withToken(token({ ...claims, aud: "kubernetes" }))],
    ["another issuer", withToken(token({ ...claims, iss: "https://evil" }))],
    ["alg none", withToken(`${base64({ alg: "none" })}.${base64(claims)}.`)],
    [
      "HS256 with the public key",
      withToken(`${unsigned}.${createHmac("sha256", publicPem).update(unsigned).digest("base64url")}`),
    ],
    ["two dots", withToken("..")],
    ["a null payload", withToken(`.${base64(null)}.`)],
    ["a signed null payload", withToken(`${base64({ alg: "RS256" })}.${base64(null)}.AAAA`)],
    ["no subject", withToken(token({ ...claims, sub: undefined }))],
    ["a subject that is no service account", withToken(token({ ...claims, sub: "system:serviceaccount:../..:x" }))],
    ["20 KB of token", withToken(`a.${"b".repeat(20_000)}.c`)],
    ["a forwarded client certificate", { "x-forwarded-client-cert": "URI=spiffe://cluster.local/ns/foo/sa/bar" }],
  ];
  test.each(bad)("C08: %s is refused, without a reason given", async (_, headers) => {
    await expect(call({}, headers)).rejects.toMatchObject({
      status: status.unauthenticated,
      message: "request authenticate failure",
    });
  });

  test("C11, R30: what headers say of somebody else, even from this machine, changes nothing", async () => {
    const others = {
      "x-forwarded-client-cert": "By=x;URI=spiffe://cluster.local/ns/istio-system/sa/istiod",
      ...{ "cluster-id": "elsewhere", clusterid: "elsewhere" },
    };
    const [leaf = ""] = await call({}, { ...others, ...withToken(token()) });
    expect(uriNames(parseCertificate(leaf))).toEqual(["spiffe://cluster.local/ns/foo/sa/bar"]);
    const twice = { authorization: `Bearer ${token()}, Bearer ${token()}` };
    await expect(call({}, twice)).rejects.toMatchObject({ status: status.unauthenticated });
    await expect(call({}, others)).rejects.toMatchObject({ status: status.unauthenticated });
  });

  test("R02: two hundred malformed tokens are refused, and the next good one is not", async () => {
    const good = token();
    const [head = "", payload = "", signature = ""] = good.split(".");
    const ways: readonly ((at: number) => string)[] = [
      (at) => good.slice(0, at),
      (at) => `${good.slice(0, at)}%00${good.slice(at)}`,
      (at) => `${base64([null, 7, "a", [], {}][at % 5])}.${payload}.${signature}`,
      (at) => `${head}.${base64([null, 7, "a", [], {}][at % 5])}.${signature}`,
      (at) => `${head}.${Buffer.from("[".repeat(at)).toString("base64url")}.${signature}`,
      (at) => `${base64({ alg: "HS256", crit: ["x".repeat(at)] })}.${payload}.${signature}`,
      (at) => `${head}.${payload}.${"A".repeat(at)}`,
      (at) => ".".repeat(at),
    ];
    const tokens = Array.from(
      { length: 200 },
      (_, i) => ways[i % ways.length]?.(1 + ((i * 37) % (good.length - 1))) ?? "",
    );
    for (const bad of tokens)
      await expect(call({}, withToken(bad)), bad).rejects.toMatchObject({ status: status.unauthenticated });
    expect(await call({}, withToken(good))).toHaveLength(2);
  });

  test("C08: 1 MB of token is refused", async () => {
    await expect(call({}, withToken(`a.${"b".repeat(1_000_000)}.c`))).rejects.toThrow();
  });

  test("C10: an impersonated identity is refused where no node is trusted", async () => {
    const metadata = { ImpersonatedIdentity: "spiffe://cluster.local/ns/istio-system/sa/istiod" };
    await expect(call({ metadata }, withToken(token()))).rejects.toMatchObject({ status: status.unauthenticated });
  });

  test("C05, C06: a bad request or an impossible life is refused, without a reason given", async () => {
    const refused = { status: status.invalidArgument, message: "CSR signing error" };
    await expect(call({ csr: "junk" }, withToken(token()))).rejects.toMatchObject(refused);
    await expect(call({ csr: createCsr({ key }).repeat(100) }, withToken(token()))).rejects.toMatchObject(refused);
    await expect(call({ validityDuration: 2n ** 63n - 1n }, withToken(token()))).rejects.toMatchObject(refused);
    const [leaf = ""] = await call({ validityDuration: -(2n ** 63n) }, withToken(token()));
    expect(parseCertificate(leaf).validToDate.getTime() - Date.now()).toBeGreaterThan(86_000_000);
  });

  test("P03: a request of many parts is refused before anybody looks who has sent it", async () => {
    const metadata = { list: Array.from({ length: 1000 }, () => null) };
    await expect(call({ metadata }, {})).rejects.toMatchObject({ status: status.resourceExhausted });
  });

  describe("a verified client certificate renews itself", () => {
    const hour = 3_600_000;
    const account = (namespace: string): Identity => ({
      trustDomain: "cluster.local",
      namespace,
      serviceAccount: "sa2",
    });
    async function renew(chain: readonly string[], seconds = 0, headers = {}): Promise<X509Certificate> {
      const pem = key.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      const tls = { ca: authority.roots(), serverName: "istiod.istio-system.svc", cert: chain.join(""), key: pem };
      const client = createRpcClient({
        target: { host: "127.0.0.1", port },
        tls: () => tls,
        metadata: async () => headers,
      });
      const request = { csr: createCsr({ key }), validityDuration: BigInt(seconds) };
      try {
        const [leaf = ""] = (await client.unary(method, create(IstioCertificateRequestSchema, request))).certChain;
        return parseCertificate(leaf);
      } finally {
        client.close();
      }
    }
    const refused = { status: status.unauthenticated };

    test("with the same name and what it was bound to, and no longer life however often it does", async () => {
      const binding = { account: "a1", pod: { name: "p", uid: "u" } };
      let certificate = parseCertificate(
        authority.sign(createCsr({ key }), account("ns2"), hour, { binding }).chain[0] ?? "",
      );
      for (let i = 0; i < 3; i++) {
        certificate = await renew([formatCertificate(certificate)], 90 * 24 * 3600);
        expect(uriNames(certificate)).toEqual(["spiffe://cluster.local/ns/ns2/sa/sa2"]);
        expect(bindingOf(certificate)).toEqual(binding);
        expect(lifeMs(certificate)).toBeLessThanOrEqual(hour);
      }
      expect(lifeMs(await renew([formatCertificate(certificate)], 60))).toBe(60_000);
    });

    test("unless it is of another CA", async () => {
      const bundle = await createSelfSignedBundle({ organization: "cluster.local", now: now() });
      const other = createCertificateAuthority({ bundle, now });
      await expect(renew(other.sign(createCsr({ key }), account("ns2"), 0).chain)).rejects.toMatchObject(refused);
    });

    test("unless its account or its Pod is gone, or nobody can say; then a token still does", async () => {
      const gonePod = { binding: { account: "a1", pod: { name: "gone", uid: "u" } } };
      for (const { chain } of [
        authority.sign(createCsr({ key }), account("gone"), 0),
        authority.sign(createCsr({ key }), account("unreachable"), 0),
        authority.sign(createCsr({ key }), account("ns2"), 0, gonePod),
      ]) {
        await expect(renew(chain)).rejects.toMatchObject(refused);
        expect(uriNames(await renew(chain, 0, withToken(token())))).toEqual(["spiffe://cluster.local/ns/foo/sa/bar"]);
      }
    });
  });

  test("C07: the same call a thousand times is served with serials of its own, then limited", async () => {
    const client = createRpcClient({
      target: { host: "127.0.0.1", port },
      tls: () => ({ ca: authority.roots(), serverName: "istiod.istio-system.svc" }),
      metadata: async () => withToken(token({ ...claims, sub: "system:serviceaccount:foo:replay" })),
    });
    const request = create(IstioCertificateRequestSchema, { csr: createCsr({ key }) });
    const serials = new Set<string>();
    const refusals: unknown[] = [];
    const callOnce = async (): Promise<void> => {
      try {
        const [leaf = ""] = (await client.unary(method, request)).certChain;
        serials.add(parseCertificate(leaf).serialNumber);
      } catch (error) {
        refusals.push(error);
      }
    };
    for (let i = 0; i < 21; i++) await Promise.all(Array.from({ length: 50 }, callOnce));
    client.close();
    expect(serials.size).toBe(1000);
    const audited = log.split("\n").filter((line) => line.includes("certificate issued") && line.includes("sa/replay"));
    expect(audited).toHaveLength(1000);
    expect(audited.every((line) => line.includes("serial") && line.includes("until"))).toBe(true);
    expect(refusals).toHaveLength(50);
    for (const refusal of refusals) expect(refusal).toMatchObject({ status: status.resourceExhausted });
  }, 300_000);

  test("C14: what cannot be served soon is told at once to come back, and those before it are served", async () => {
    const gate = Promise.withResolvers<void>();
    let asked = 0;
    const waiting = Promise.withResolvers<void>();
    const service = createCertificateService({
      acceptsPeer: () => true,
      signer: createOwnSigner(authority),
      async authenticate(bearer) {
        if (++asked === 2) waiting.resolve();
        await gate.promise;
        return judge(bearer);
      },
      stillThere: async () => true,
      rateLimit: { take: () => true },
      metrics: { count: () => {} },
      log: createLogger({ write: () => {}, now }),
      ...{ maxUnderWay: 2, authenticateTimeoutMs: 600_000 },
    });
    const busy = createRpcServer({ routes: [service], log: createLogger({ write: () => {}, now }) });
    const bound = await busy.listen({ host: "127.0.0.1", port: 0 });
    const client = createRpcClient({ target: bound, metadata: async () => withToken(token()) });
    const request = create(IstioCertificateRequestSchema, { csr: createCsr({ key }) });
    const served = [client.unary(method, request), client.unary(method, request)];
    await waiting.promise;
    await expect(client.unary(method, request)).rejects.toMatchObject({ status: status.resourceExhausted });
    gate.resolve();
    for (const { certChain } of await Promise.all(served)) expect(certChain).toHaveLength(2);
    expect((await client.unary(method, request)).certChain).toHaveLength(2);
    client.close();
    await busy.close();
  });

  test("C14: Pods of one account that start together are all served, and a greedy one of them takes no more than its own", async () => {
    const service = createCertificateService({
      acceptsPeer: () => true,
      signer: createOwnSigner(authority),
      authenticate: judge,
      stillThere: async () => true,
      rateLimit: createRateLimit({
        perHolder: { burst: 2, perSecond: 1 },
        perAccount: { burst: 40, perSecond: 1 },
        total: { burst: 1000, perSecond: 1 },
        monotonicMs: () => 0,
      }),
      metrics: { count: () => {} },
      log: createLogger({ write: () => {}, now }),
    });
    const deployed = createRpcServer({ routes: [service], log: createLogger({ write: () => {}, now }) });
    const client = createRpcClient({ target: await deployed.listen({ host: "127.0.0.1", port: 0 }) });
    const request = create(IstioCertificateRequestSchema, { csr: createCsr({ key }) });
    const served = async (times: number, pod: (i: number) => string | undefined): Promise<number> => {
      const calls = Array.from({ length: times }, (_, i) =>
        client.unary(method, request, { metadata: withToken(token({ ...claims, pod: pod(i) })) }),
      );
      const answers = await Promise.allSettled(calls);
      const refused = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []));
      for (const refusal of refused) expect(refusal).toMatchObject({ status: status.resourceExhausted });
      return times - refused.length;
    };
    expect(await served(20, () => "greedy")).toBe(2);
    // Without a Pod: all that come from one address.
    expect(await served(20, () => undefined)).toBe(2);
    expect(await served(30, (i) => `pod-${i}`)).toBe(30);
    expect(await served(20, (i) => `late-${i}`)).toBe(6);
    client.close();
    await deployed.close();
  });

  test("C13: a judge that does not answer is not waited for", async () => {
    const service = createCertificateService({
      acceptsPeer: () => true,
      signer: createOwnSigner(authority),
      authenticate: () => new Promise(() => {}),
      stillThere: () => new Promise(() => {}),
      rateLimit: { take: () => true },
      metrics: { count: () => {} },
      log: createLogger({ write: () => {}, now }),
      authenticateTimeoutMs: 50,
    });
    const slow = createRpcServer({ routes: [service], log: createLogger({ write: () => {}, now }) });
    const bound = await slow.listen({ host: "127.0.0.1", port: 0 });
    const client = createRpcClient({ target: bound, metadata: async () => withToken(token()) });
    await expect(client.unary(method, create(IstioCertificateRequestSchema, {}))).rejects.toMatchObject({
      status: status.unauthenticated,
    });
    client.close();
    await slow.close();
  });
});
