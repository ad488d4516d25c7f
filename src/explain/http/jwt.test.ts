import { fromJson } from "@bufbuild/protobuf";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { beforeAll, expect, test } from "vitest";
import {
  type JwtAuthentication,
  JwtAuthenticationSchema,
} from "../../gen/envoy/extensions/filters/http/jwt_authn/v3/config_pb.js";
import type { Headers } from "../request.ts";
import { evaluateJwt, type JwtVerdict } from "./jwt.ts";

const now = new Date();
let config: JwtAuthentication;
let sign: (claims: object, exp?: string) => Promise<string>;

beforeAll(async () => {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k" }] });
  const provider = {
    issuer: "me",
    audiences: ["web"],
    localJwks: { inlineString: keys },
    payloadInMetadata: "payload",
    normalizePayloadInMetadata: { spaceDelimitedClaims: ["scope"] },
  };
  const requires = { requiresAny: { requirements: [{ providerName: "p" }, { allowMissing: {} }] } };
  config = fromJson(JwtAuthenticationSchema, {
    providers: { p: provider },
    rules: [{ match: { prefix: "/" }, requires }],
    bypassCorsPreflight: true,
  });
  sign = (claims, exp = "1h") =>
    new SignJWT({ iss: "me", aud: "web", ...claims })
      .setProtectedHeader({ alg: "RS256", kid: "k" })
      .setExpirationTime(exp)
      .sign(privateKey);
});

const evaluate = (headers: Headers, change: { method?: string; unknownKeys?: string } = {}): JwtVerdict =>
  evaluateJwt(
    config,
    {
      request: { method: change.method ?? "GET", path: "/", authority: "h", headers, version: "HTTP/1.1" },
      metadata: new Map(),
      peer: undefined,
      tls: false,
      sampled: () => true,
    },
    { now, unknownKeys: change.unknownKeys ?? "" },
  );
const bearer = (token: string): Headers => [["authorization", `Bearer ${token}`]];

test("no token is needed; one that is there has to be good", async () => {
  expect(evaluate([])).toMatchObject({ failure: undefined, claims: undefined });
  expect(evaluate(bearer(await sign({ sub: "a", scope: "read write" })))).toMatchObject({
    failure: undefined,
    claims: { sub: "a", scope: ["read", "write"] },
    metadataKey: "payload",
  });
  expect(evaluate(bearer(await sign({}, "-1h"))).failure).toBe("Jwt is expired");
  expect(evaluate(bearer(await sign({ iss: "other" }))).failure).toBe("Jwt issuer is not configured");
  expect(evaluate(bearer(await sign({ aud: "other" }))).failure).toBe("Audiences in Jwt are not allowed");
  expect(evaluate(bearer(`${(await sign({})).slice(0, -6)}AAAAAA`)).failure).toBe("Jwt verification fails");
  expect(evaluate(bearer("a.b")).failure).toMatch(/^Jwt is not in the form/);
});

test("a preflight of a browser has no token", () => {
  expect(
    evaluate([...bearer("bad"), ["origin", "o"], ["access-control-request-method", "GET"]], { method: "OPTIONS" })
      .failure,
  ).toBeUndefined();
});

test("where keys are not known, the signature is taken for good, and that is said", async () => {
  const source = config.providers.p?.jwksSourceSpecifier;
  const keys =
    source?.case === "localJwks" && source.value.specifier.case === "inlineString" ? source.value.specifier.value : "";
  expect(evaluate(bearer(`${(await sign({})).slice(0, -6)}AAAAAA`), { unknownKeys: keys })).toMatchObject({
    failure: undefined,
    unverified: true,
  });
});
