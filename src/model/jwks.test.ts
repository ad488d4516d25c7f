import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { jwksKey, jwksSource, publicJwks } from "./jwks.ts";

const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
const publicKey = { kid: "a", ...pair.publicKey.export({ format: "jwk" }) };
const privateKey = { kid: "a", ...pair.privateKey.export({ format: "jwk" }) };

test("a public set is left as it is written", () => {
  const text = `{ "keys": [ ${JSON.stringify(publicKey)} ] }`;
  expect(publicJwks(text)).toBe(text);
});

test("R37: private members are taken out, of every key", () => {
  const text = JSON.stringify({ keys: [privateKey, publicKey, { kty: "OKP", crv: "Ed25519", x: "aa", d: "secret" }] });
  const kept = JSON.parse(publicJwks(text) ?? "null");
  expect(kept.keys[0]).toEqual(publicKey);
  expect(kept.keys.flatMap(Object.keys)).not.toContain("d");
  expect(JSON.stringify(kept)).not.toContain(privateKey.d);
});

test.each([
  ["", "empty"],
  ["not json", "text"],
  ["[]", "a list"],
  ['{"keys":{}}', "keys that are no list"],
  ['{"keys":[]}', "no key"],
  ['{"keys":[{"kty":"RSA"}]}', "a key without its numbers"],
  ['{"keys":[{"kty":"new","x":"aa"}]}', "a kind that nobody knows"],
  ['{"keys":[{"kty":"oct","k":"§"}]}', "what is no base64"],
  [`{"keys":[${'{"a":'.repeat(200)}1${"}".repeat(200)}]}`, "deep nesting"],
])("%j has no key that Envoy could use: %s", (text) => {
  expect(publicJwks(text)).toBeUndefined();
});

test("the older form, certificates by key id, is kept", () => {
  const text = '{"k1":"-----BEGIN CERTIFICATE-----\\nAA==\\n-----END CERTIFICATE-----"}';
  expect(publicJwks(text)).toBe(text);
});

test("no two places share a key, so that no issuer can have another's keys", () => {
  const sources = [
    jwksSource({ issuer: "https://a", jwksUri: "https://b" }),
    jwksSource({ issuer: "https://b" }),
    jwksSource({ issuer: "issuer https://b", jwksUri: "https://c" }),
  ];
  expect(new Set(sources.map((source) => source && jwksKey(source))).size).toBe(3);
  expect(jwksSource({ issuer: "a", jwks: "{}" })).toBeUndefined();
});
