/** Tokens made by another library, good and almost good, and what is made of them. */
import { generateKeyPairSync } from "node:crypto";
import { SignJWT } from "jose";
import { expect, test } from "vitest";
import { readToken } from "./read-token.ts";

const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const now = new Date(1_800_000_000_000);
const seconds = now.getTime() / 1000;
const good = {
  iss: "i",
  sub: "s",
  aud: ["a", "b"],
  exp: seconds + 1,
  nbf: seconds,
  jti: "j",
  "kubernetes.io": { x: 1 },
};
const make = (claims: Readonly<Record<string, unknown>>, alg = "ES256", key = pair.privateKey): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg }).sign(key);
const read = (token: string) => readToken(token, { key: pair.publicKey, issuer: "i", now });

test("a good one", async () => {
  expect(read(await make(good))).toEqual({ audiences: ["a", "b"], jti: "j", kubernetes: { x: 1 } });
  expect(read(await make({ ...good, aud: "a", nbf: undefined })).audiences).toEqual(["a"]);
});

test.each<[string, () => Promise<string>, RegExp]>([
  ["that has expired", () => make({ ...good, exp: seconds }), /expired/],
  ["without an end", () => make({ ...good, exp: undefined }), /expired/],
  ["that is not valid yet", () => make({ ...good, nbf: seconds + 1 }), /not valid yet/],
  ["of another issuer", () => make({ ...good, iss: "x" }), /another issuer/],
  ["without a subject", () => make({ ...good, sub: undefined }), /another issuer/],
  ["of another key", () => make(good, "ES256", other.privateKey), /signature/],
  ["of another algorithm", () => make(good, "RS256", rsa.privateKey), /algorithm/],
  ["of no algorithm", async () => `${part({ alg: "none" })}.${part(good)}.`, /algorithm/],
  ["whose algorithm is a list", async () => `${part({ alg: ["ES256"] })}.${part(good)}.AAAA`, /algorithm/],
  ["with another body", async () => swapped(await make(good)), /signature/],
  ["whose signature is cut short", async () => (await make(good)).slice(0, -6), /signature|base64url/],
  ["with a fourth part", async () => `${await make(good)}.x`, /algorithm/],
  ["with padding", async () => `${await make(good)}=`, /base64url/],
  ["of nothing", async () => "", /base64url/],
  ["that is no JSON", async () => `${Buffer.from("{").toString("base64url")}.x.y`, /JSON/],
  ["of deep JSON", async () => `${Buffer.from("[".repeat(9000)).toString("base64url")}.x.y`, /JSON/],
])("one %s is refused", async (_, token, why) => {
  const text = await token();
  expect(() => read(text)).toThrow(why);
});

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function swapped(token: string): string {
  const [head = "", , end = ""] = token.split(".");
  return `${head}.${part({ ...good, sub: "system:admin" })}.${end}`;
}
