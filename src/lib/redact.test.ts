import { expect, test } from "vitest";
import { threadCpuMs } from "../../test/cpu-time.ts";
import { redactKeys } from "./redact.ts";

const pem = (label: string): string => `-----BEGIN ${label}-----\nMIIBVQIBADANBg\n-----END ${label}-----`;
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ3ZWIifQ.c2lnbmF0dXJl";

test.each([
  ["a key", `inline_string: "${pem("PRIVATE KEY")}"`, 'inline_string: "[redacted]"'],
  ["one with its line ends escaped", `key ${JSON.stringify(pem("RSA PRIVATE KEY"))}`, 'key "[redacted]"'],
  ["one that is cut off", `no: ${pem("EC PRIVATE KEY").slice(0, 40)}`, "no: [redacted]"],
  ["one as base64", `{"inlineBytes":"${base64(pem("PRIVATE KEY"))}"}`, '{"inlineBytes":"[redacted]"}'],
  ["a token", `header x: ${token}, refused`, "header x: [redacted], refused"],
  ["a bearer", "authorization: Bearer 0123456789abcdef", "authorization: Bearer [redacted]"],
])("%s is left out", (_, text, shown) => {
  expect(redactKeys(text)).toBe(shown);
});

test.each([
  "Error adding/updating cluster(s) token-service: route: unknown secret 'kubernetes://keys'",
  pem("CERTIFICATE"),
  base64(pem("CERTIFICATE")),
  "bearer of bad news",
])("%s stays", (text) => {
  expect(redactKeys(text)).toBe(text);
});

test.each([
  "eyJ-",
  "-----BEGIN ",
  "-----BEGIN PRIVATE KEY-----END ",
  "Bearer ",
  "LS0tLS1CRUdJTiB",
  "eyJaaaaaaaa.",
  "  ",
])("the time for a long text of %s does not grow with its square", (part) => {
  const text = part.repeat(Math.ceil(1_000_000 / part.length));
  const began = threadCpuMs();
  redactKeys(text);
  expect(threadCpuMs() - began).toBeLessThan(1000);
});
