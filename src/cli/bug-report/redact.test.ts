import { expect, test } from "vitest";
import { redactDump, redactObject, redactText } from "./redact.ts";

test.each([
  ["password=hunter22 next", "password=[redacted] next"],
  ['{"token":"abcdef123"}', '{"token":"[redacted]"}'],
  ['{\\"token\\":\\"abcdef123\\"}', '{\\"token\\":\\"[redacted]"}'],
  ["Authorization: Basic aHVudGVyMjI=", "Authorization: Basic [redacted]"],
  ["postgres://user:hunter22@db/x", "postgres://user:[redacted]@db/x"],
  ["a token of eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1", "a token of [redacted]"],
  ["-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest", "[redacted]\nrest"],
  ["-----BEGIN PRIVATE KEY-----\ncut short", "[redacted]"],
  [
    "certificate issued identity=spiffe://cluster.local/ns/a/sa/b",
    "certificate issued identity=spiffe://cluster.local/ns/a/sa/b",
  ],
  ["10.0.0.1:8080 outbound|80||web.shop", "10.0.0.1:8080 outbound|80||web.shop"],
])("%j is written as %j", (text, shown) => {
  expect(redactText(text)).toBe(shown);
});

test("of a Secret only the names of its entries are left, and nothing of what was applied", () => {
  const object = {
    ...{ apiVersion: "v1", kind: "Secret", type: "Opaque" },
    metadata: {
      name: "s",
      namespace: "n",
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": "hunter22" },
    },
    data: { "tls.key": "aHVudGVyMjI=" },
  };
  expect(redactObject(object)).toEqual({
    ...{ apiVersion: "v1", kind: "Secret", type: "Opaque" },
    metadata: { name: "s", namespace: "n" },
    data: { "tls.key": "[redacted]" },
  });
});

test("values that are called a secret go, references to Secrets stay", () => {
  const object = {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "p" } },
    spec: {
      containers: [
        {
          env: [
            { name: "DB_PASSWORD", value: "hunter22" },
            { name: "PLAIN", value: "1" },
          ],
        },
      ],
      volumes: [{ secret: { secretName: "db" } }],
      tls: { credentialName: "front", clientToken: "hunter22" },
    },
  };
  expect(redactObject(object)).toMatchObject({
    spec: {
      containers: [
        {
          env: [
            { name: "DB_PASSWORD", value: "[redacted]" },
            { name: "PLAIN", value: "1" },
          ],
        },
      ],
      volumes: [{ secret: { secretName: "db" } }],
      tls: { credentialName: "front", clientToken: "[redacted]" },
    },
  });
});

test("what kubectl keeps of an object as it was applied goes, wherever the object is shown", () => {
  const applied = JSON.stringify({ spec: { env: [{ name: "DB_PASSWORD", value: "hunter22" }], password: "hunter22" } });
  const metadata = {
    name: "p",
    annotations: { "kubectl.kubernetes.io/last-applied-configuration": applied, "team.example/owner": "shop" },
  };
  const object = { apiVersion: "v1", kind: "Pod", metadata };
  expect(redactObject(object)).toMatchObject({ metadata: { annotations: { "team.example/owner": "shop" } } });
  for (const shown of [redactObject(object), redactDump([object])])
    expect(JSON.stringify(shown)).not.toContain("hunter");
});

test("dumps are looked through by name as objects are", () => {
  const dump = {
    pluginConfig: { env: [{ name: "API_KEY", valueFrom: "INLINE", value: "hunter22" }] },
    tlsCertificates: [{ privateKey: { inlineBytes: "aHVudGVyMjI=" }, certificateChain: { inlineBytes: "cHVibGlj" } }],
    tlsCertificateSdsSecretConfigs: [{ name: "default", sdsConfig: { ads: {} } }],
  };
  expect(redactDump(dump)).toEqual({
    pluginConfig: { env: [{ name: "API_KEY", valueFrom: "INLINE", value: "[redacted]" }] },
    tlsCertificates: [{ privateKey: { inlineBytes: "[redacted]" }, certificateChain: { inlineBytes: "cHVibGlj" } }],
    tlsCertificateSdsSecretConfigs: [{ name: "default", sdsConfig: { ads: {} } }],
  });
});
