import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createHttpClient } from "../fetch/index.ts";
import { json, startServer, type TestServer } from "../fetch/testing.ts";
import { silentLogger } from "../lib/index.ts";
import { firstJudge, type TokenJudge } from "./authenticate.ts";
import { createIssuerJudge, type IssuerRule, parseIssuerRule } from "./issuer-judge.ts";

type Keys = Awaited<ReturnType<typeof generateKeyPair>>;
let server: TestServer;
let issuer: string;
let keys: Keys;
let clockMs = 0;
const signal = AbortSignal.timeout(600_000);
const subject = "system:serviceaccount:shop:db";

beforeEach(async () => {
  server = await startServer();
  issuer = server.url;
  clockMs = 0;
  keys = await generateKeyPair("RS256", { extractable: true });
  await publish([["1", keys]]);
  server.answer("/.well-known/openid-configuration", json({ issuer, jwks_uri: `${issuer}/found` }));
});
afterEach(() => server.close());

async function publish(all: readonly (readonly [kid: string, keys: Keys])[]): Promise<void> {
  // A careless issuer publishes private members, too.
  const jwks = {
    keys: await Promise.all(all.map(async ([kid, pair]) => ({ ...(await exportJWK(pair.privateKey)), kid }))),
  };
  for (const path of ["/keys", "/found"]) server.answer(path, json(jwks));
}
const judgeOf = (rule: Partial<IssuerRule> = {}, http = createHttpClient({ guard: () => undefined })): TokenJudge =>
  createIssuerJudge({
    rule: { issuer, jwksUri: `${issuer}/keys`, audiences: ["istio-ca", "other"], ...rule },
    http,
    trustDomain: () => "cluster.local",
    now: () => new Date(),
    monotonicMs: () => clockMs,
    log: silentLogger,
  });
function token(claims: Readonly<Record<string, unknown>> = {}, pair = keys, kid = "1"): Promise<string> {
  const seconds = Math.floor(Date.now() / 1000);
  const usual = { iss: issuer, sub: subject, aud: ["istio-ca"], exp: seconds + 600 };
  return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: "RS256", kid }).sign(pair.privateKey);
}
const db = { identity: { trustDomain: "cluster.local", namespace: "shop", serviceAccount: "db" } };

test("a token of the issuer is its subject's, by keys that are named or that the issuer tells of", async () => {
  expect(await judgeOf().identify(await token(), signal)).toEqual(db);
  expect(await judgeOf({ jwksUri: "" }).identify(await token(), signal)).toEqual(db);
  expect(server.asked).toEqual(["/keys", "/.well-known/openid-configuration", "/found"]);
});

describe("C08: not good", () => {
  const past = Math.floor(Date.now() / 1000) - 60;
  test.each<[string, Readonly<Record<string, unknown>>]>([
    ["expired", { exp: past }],
    ["without an end", { exp: undefined }],
    ["not begun", { nbf: past + 3600 }],
    ["for others", { aud: "kubernetes" }],
    ["for nobody", { aud: undefined }],
    ["of another issuer", { iss: "https://evil" }],
    ["of a person", { sub: "anna" }],
    ["of no account", { sub: "system:serviceaccount:shop" }],
    ["of more than an account", { sub: `${subject}:x` }],
    ["of a name that is none", { sub: "system:serviceaccount:../..:x" }],
  ])("%s", async (_, claims) => {
    const given = judgeOf().identify(await token(claims), signal);
    expect(await given.catch(() => undefined)).toBeUndefined();
  });

  test("signed with another key, with none, or with the public key as a secret", async () => {
    const other = await generateKeyPair("RS256");
    const [, payload = ""] = (await token()).split(".");
    const unsigned = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`;
    const secret = new TextEncoder().encode(JSON.stringify(await exportJWK(keys.publicKey)));
    const shared = await new SignJWT({ iss: issuer, sub: subject, aud: "istio-ca" })
      .setProtectedHeader({ alg: "HS256", kid: "1" })
      .setExpirationTime("1h")
      .sign(secret);
    for (const bad of [await token({}, other), unsigned, shared, "..", `a.${"b".repeat(100)}.c`])
      await expect(judgeOf().identify(bad, signal)).rejects.toThrow();
  });

  test("from an issuer that says it is another", async () => {
    server.answer("/.well-known/openid-configuration", json({ issuer: "https://evil", jwks_uri: `${issuer}/found` }));
    await expect(judgeOf({ jwksUri: "" }).identify(await token(), signal)).rejects.toThrow("says that it is");
  });

  test("by keys that an issuer with TLS has where there is none", async () => {
    const asked: string[] = [];
    const http = createHttpClient({ guard: () => undefined });
    // A certificate that this machine would believe cannot be had here: what is asked of the issuer comes without TLS.
    const plain: typeof http = {
      ...http,
      get(url, limits) {
        asked.push(url);
        return http.get(url.replace("https://issuer.example", issuer), limits);
      },
    };
    const [secure, jwksUri] = ["https://issuer.example", ""];
    server.answer("/.well-known/openid-configuration", json({ issuer: secure, jwks_uri: `${issuer}/found` }));
    const judge = judgeOf({ issuer: secure, jwksUri }, plain);
    await expect(judge.identify(await token({ iss: secure }), signal)).rejects.toThrow("not encrypted");
    expect(asked).toEqual([`${secure}/.well-known/openid-configuration`]);
  });
});

test("a new key is found, and a flood of unknown ones asks the issuer once in ten seconds", async () => {
  const judge = judgeOf();
  await judge.identify(await token(), signal);
  const fresh = await generateKeyPair("RS256", { extractable: true });
  await publish([
    ["1", keys],
    ["2", fresh],
  ]);
  clockMs += 10_000;
  expect(await judge.identify(await token({}, fresh, "2"), signal)).toEqual(db);
  const asked = server.asked.length;
  for (let i = 0; i < 20; i++) await judge.identify(await token({}, fresh, `x${i}`), signal).catch(() => {});
  expect(server.asked.length).toBe(asked);
});

test("R36: while the issuer is away its last keys hold; what it sends instead of keys never counts", async () => {
  const judge = judgeOf();
  const good = await token();
  expect(await judge.identify(good, signal)).toEqual(db);
  const junk = (_: unknown, response: { writeHead(code: number): { end(text: string): void } }): void =>
    response.writeHead(200).end("[".repeat(2_000_000));
  for (const answer of [junk, json({ keys: [] }), json(null), json({ keys: [7, null, {}] })]) {
    server.answer("/keys", answer);
    clockMs += 3_600_000;
    expect(await judge.identify(good, signal)).toEqual(db);
    clockMs += 3_600_000;
  }
});

test("tokens of others reach the next judge, and the issuer is not called for them", async () => {
  const next: TokenJudge = { identify: async () => ({ identity: { ...db.identity, serviceAccount: "next" } }) };
  const both = firstJudge(judgeOf(), next);
  expect((await both.identify(await token({ iss: "https://kubernetes" }), signal))?.identity.serviceAccount).toBe(
    "next",
  );
  expect((await both.identify("a.b.c", signal))?.identity.serviceAccount).toBe("next");
  expect(server.asked).toEqual([]);
  expect(await both.identify(await token(), signal)).toEqual(db);
});

test("JWT_RULE is read as istiod reads it; what could let nobody in is told", () => {
  const rule = { issuer: "i", jwksUri: "k", audiences: ["a"] };
  expect(parseIssuerRule('{"issuer":"i","jwks_uri":"k","audiences":["a"]}')).toEqual(rule);
  expect(parseIssuerRule('{"issuer":"i","jwksUri":"k","audiences":["a"]}')).toEqual(rule);
  for (const bad of ["", "junk", "[]", '{"audiences":["a"]}', '{"issuer":"i"}'])
    expect(() => parseIssuerRule(bad), bad).toThrow("JWT_RULE");
});
