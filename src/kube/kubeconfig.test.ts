import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { inClusterAccess, loadKubeconfig } from "./kubeconfig.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-kubeconfig-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const write = (name: string, content: unknown): string => {
  const path = join(dir, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
};
const config = (user: object, extra: object = {}): object => ({
  "current-context": "c",
  contexts: [{ name: "c", context: { cluster: "k", user: "u", namespace: "shop" } }],
  clusters: [
    {
      name: "k",
      cluster: {
        server: "https://127.0.0.1:6443/",
        "certificate-authority-data": Buffer.from("CA").toString("base64"),
      },
    },
  ],
  users: [{ name: "u", user }],
  ...extra,
});

test("data, files beside it, and a token that is read anew", async () => {
  write("cert.pem", "CERT");
  const token = write("token", "one\n");
  const path = write(
    "plain",
    config({
      "client-certificate": "cert.pem",
      "client-key-data": Buffer.from("KEY").toString("base64"),
      tokenFile: "token",
    }),
  );
  const access = await loadKubeconfig({ paths: [path], env: {} });
  expect(access).toMatchObject({ server: "https://127.0.0.1:6443", ca: "CA", namespace: "shop", insecure: false });
  expect(await access.credentials(false)).toEqual({ cert: "CERT", key: "KEY", token: "one" });
  writeFileSync(token, "two");
  expect(await access.credentials(false)).toMatchObject({ token: "two" });
});

test("of several files the first that names a thing decides", async () => {
  const first = write("first", {
    "current-context": "other",
    contexts: [{ name: "other", context: { cluster: "k", user: "u" } }],
  });
  const second = write("second", config({ token: "t" }));
  const access = await loadKubeconfig({ paths: [first, second], env: {} });
  expect([access.namespace, (await access.credentials(false)).token]).toEqual(["default", "t"]);
  expect((await loadKubeconfig({ paths: [first, second], context: "c", env: {} })).namespace).toBe("shop");
});

test("an exec plugin is asked again after its answer was refused", async () => {
  const script = write(
    "plugin",
    `#!/bin/sh\necho x >> ${dir}/runs\nn=$(wc -l < ${dir}/runs)\necho '{"kind":"ExecCredential","status":{"token":"'$PREFIX$n'"}}'\n`,
  );
  chmodSync(script, 0o700);
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: script,
    env: [{ name: "PREFIX", value: "t" }],
  };
  const access = await loadKubeconfig({ paths: [write("exec", config({ exec }))], env: { PATH: process.env["PATH"] } });
  const token = async (refused: boolean) => (await access.credentials(refused)).token?.replace(/\s/g, "");
  expect([await token(false), await token(false), await token(true)]).toEqual(["t1", "t1", "t2"]);
});

test.each([
  ["no such file", "missing", "cannot read kubeconfig"],
  ["no context", "{}", "names no current context"],
  ["a context without its cluster", JSON.stringify(config({}, { clusters: [] })), "no entry k in clusters"],
  ["not YAML", "a: [", "not YAML"],
])("%s is told", async (_name, text, message) => {
  const path = text === "missing" ? join(dir, "missing") : write("broken", text);
  await expect(loadKubeconfig({ paths: [path], env: {} })).rejects.toThrow(message);
});

test("inside a Pod", () => {
  expect(inClusterAccess({})).toBeUndefined();
  expect(inClusterAccess({ KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" })?.server).toBe(
    "https://[fd00::1]:443",
  );
});
