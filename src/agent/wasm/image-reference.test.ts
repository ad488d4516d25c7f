import { expect, test } from "vitest";
import { isPlainRegistry, parseImageReference } from "./image-reference.ts";
import { credentialsFor } from "./pull-secret.ts";

const digest = `sha256:${"a".repeat(64)}`;

test.each([
  ["oci://ghcr.io/a/b:v1", "ghcr.io", "a/b", "v1"],
  ["oci://ghcr.io/a/b", "ghcr.io", "a/b", "latest"],
  ["oci://localhost:5000/a:v", "localhost:5000", "a", "v"],
  [`oci://r.example/a@${digest}`, "r.example", "a", digest],
  [`oci://r.example/a:v1@${digest}`, "r.example", "a", digest],
  ["oci://team/a:v", "index.docker.io", "team/a", "v"],
  ["oci://docker.io/a", "index.docker.io", "library/a", "latest"],
])("%s", (url, registry, repository, identifier) => {
  expect(parseImageReference(url)).toMatchObject({ registry, repository, identifier });
});

test.each([
  "oci://r.example/",
  "oci://r.example/A",
  "oci://r.example/a/../b",
  "oci://r.example/a:v?x",
  "oci://r.example/a@sha256:1",
  "oci://r.example/a:v1/../../x",
  "oci://evil.example#.local/a",
  "oci://evil.example:80?x=/a",
  "oci://r.example\\x/a",
  "oci://r.example:port/a",
])("%s is refused", (url) => {
  expect(() => parseImageReference(url)).toThrow("names no image");
});

test("registries without TLS are this machine, private addresses and local names", () => {
  const plain = ["localhost:5000", "127.0.0.1", "10.1.2.3:5000", "172.20.0.1", "192.168.0.1", "registry.local"];
  expect(plain.map(isPlainRegistry)).toEqual(plain.map(() => true));
  const other = ["ghcr.io", "172.32.0.1", "8.8.8.8", "registry.default.svc:5000", "local"];
  expect(other.map(isPlainRegistry)).toEqual(other.map(() => false));
});

test("a pull secret is for the registry that it names", () => {
  const secret = JSON.stringify({
    auths: {
      "https://index.docker.io/v1/": { auth: "aHVi" },
      "r.example:5000": { username: "u", password: "p" },
      "t.example": { registrytoken: "t" },
    },
  });
  expect(credentialsFor("index.docker.io", secret).basic).toBe("aHVi");
  expect(credentialsFor("r.example:5000", secret).basic).toBe(Buffer.from("u:p").toString("base64"));
  expect(credentialsFor("t.example", secret).token).toBe("t");
  expect(credentialsFor("r.example", secret)).toEqual({ basic: undefined, token: undefined });
  expect(credentialsFor("r.example", undefined)).toEqual({ basic: undefined, token: undefined });
  for (const bad of ["null", "{}", "s3cret"])
    expect(() => credentialsFor("r.example", bad)).toThrow(/^the pull secret is no \.dockerconfigjson$/);
});
