import type { lookup as systemLookup } from "node:dns";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createAddressGuard } from "../lib/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../pki/index.ts";
import { createHttpClient } from "./http-client.ts";
import { json, redirect, startServer, type TestServer } from "./testing.ts";

/** However busy the machine. */
const limits = { maxBytes: 1000, timeoutMs: 60_000 };
let server: TestServer;
beforeEach(async () => {
  server = await startServer();
});
afterEach(() => server.close());

const client = createHttpClient({ guard: createAddressGuard() });
const get = async (path: string, options = limits): Promise<string> =>
  Buffer.from(await client.get(`${server.url}${path}`, options)).toString();

/** For 127.0.0.1, and the root that vouches for it. */
async function serverIdentity(): Promise<{ readonly root: string; readonly cert: string; readonly key: string }> {
  const [ca, leaf] = await Promise.all([generateKey(), generateKey()]);
  const life = { subject: { organization: "test" }, now: new Date(), ttlMs: 3_600_000 };
  const self = { certificate: undefined, key: ca.privateKey };
  const root = issueCertificate({ ...life, profile: "ca", publicKey: ca.publicKey, signer: self });
  const signer = { certificate: root, key: ca.privateKey };
  const altNames = [{ type: "ip", value: "127.0.0.1" }] as const;
  // A name of its own: a certificate whose subject is its issuer counts as self-signed.
  const own = { ...life, subject: { organization: "server" }, profile: "server" } as const;
  const cert = issueCertificate({ ...own, altNames, publicKey: leaf.publicKey, signer });
  return { root: formatCertificate(root), cert: formatCertificate(cert), key: formatPrivateKey(leaf.privateKey) };
}

/** As if every name led there. */
function resolving(...addresses: readonly string[]): typeof systemLookup {
  const answer = (_host: string, _options: unknown, done: (error: null, found: unknown) => void): void =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  return answer as unknown as typeof systemLookup;
}

test("gives the body", async () => {
  server.answer("/ok", json({ a: 1 }));
  expect(await get("/ok")).toBe('{"a":1}');
});

test("follows three redirects, also relative ones, and no fourth", async () => {
  server.answer("/1", redirect("/2"));
  server.answer("/2", redirect(`${server.url}/3`));
  server.answer("/3", redirect("4"));
  server.answer("/4", json("end"));
  server.answer("/0", redirect("/1"));
  expect(await get("/1")).toBe('"end"');
  await expect(get("/0")).rejects.toThrow("more than 3 redirects");
});

test("refuses an answer past the bound, announced or not", async () => {
  server.answer("/announced", (_q, r) => r.writeHead(200, { "content-length": "1001" }).end("x".repeat(1001)));
  server.answer("/streamed", (_q, r) => {
    const timer = setInterval(() => r.write("x".repeat(400)), 1);
    r.on("close", () => clearInterval(timer));
  });
  await expect(get("/announced")).rejects.toMatchObject({ code: "too-large" });
  await expect(get("/streamed")).rejects.toMatchObject({ code: "too-large" });
});

test("gives up in time: on a silent server, and on one that drips", async () => {
  server.answer("/silent", () => {});
  server.answer("/drips", (_q, r) => {
    const timer = setInterval(() => r.write("x"), 20);
    r.on("close", () => clearInterval(timer));
  });
  for (const path of ["/silent", "/drips"])
    await expect(get(path, { ...limits, timeoutMs: 150 })).rejects.toMatchObject({ code: "timeout" });
});

test("refuses an encoding it did not ask for: what it holds could be any size", async () => {
  server.answer("/gzip", (_q, r) =>
    r.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(10_000_000))),
  );
  await expect(get("/gzip")).rejects.toMatchObject({ code: "invalid" });
});

test("says which status came back, and nothing of the body", async () => {
  await expect(get("/missing")).rejects.toThrow(/answers with status 404$/);
});

test.each(["file:///etc/passwd", "ftp://a/b", "data:,a", "//a", "http://", "http://user:pass@localhost/x", "nonsense"])(
  "%s is not fetched",
  async (url) => {
    await expect(client.get(url, limits)).rejects.toMatchObject({ code: "invalid" });
  },
);

test("R40: an address written in any form is checked before it is dialled", async () => {
  for (const host of ["169.254.169.254", "[::ffff:169.254.169.254]", "0xa9fea9fe", "2852039166", "[fe80::1]"])
    await expect(client.get(`http://${host}/latest/meta-data`, limits)).rejects.toMatchObject({ code: "forbidden" });
});

test("R40: a redirect to such an address is not followed", async () => {
  server.answer("/away", redirect("http://169.254.169.254/latest/meta-data"));
  await expect(get("/away")).rejects.toMatchObject({ code: "forbidden" });
});

test("R40: a name that leads to such an address is not dialled, whatever it led to before", async () => {
  const guard = createAddressGuard();
  const rebound = createHttpClient({ guard, lookup: resolving("169.254.169.254") });
  await expect(rebound.get("http://keys.example/jwks", limits)).rejects.toThrow("link-local");
  // Of several answers those that may be called are.
  server.answer("/jwks", json("keys"));
  const mixed = createHttpClient({ guard, lookup: resolving("fe80::1", "127.0.0.1") });
  const body = await mixed.get(`http://keys.localhost:${server.port}/jwks`, limits);
  expect(Buffer.from(body).toString()).toBe('"keys"');
});

test.each(["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])(
  "R40: a name that leads to %s is not dialled: only a URL may name this machine",
  async (address) => {
    const rebound = createHttpClient({ guard: createAddressGuard(), lookup: resolving(address) });
    await expect(rebound.get(`http://keys.example:${server.port}/jwks`, limits)).rejects.toThrow("this machine itself");
  },
);

const outside = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;

test.skipIf(outside === undefined)("R40: another machine's redirect to this one is not followed", async () => {
  const paths = ["127.0.0.1", "localhost", "[::1]", "[::ffff:7f00:1]", "2130706433"];
  const other = createServer((asked, answer) => {
    const to = paths[Number(asked.url?.slice(1))] ?? "";
    answer.writeHead(302, { location: `http://${to}:${server.port}/jwks` }).end();
  });
  await new Promise<void>((resolve) => other.listen(0, outside, resolve));
  const { port } = other.address() as AddressInfo;
  server.answer("/jwks", json("keys"));
  for (const i of paths.keys())
    await expect(client.get(`http://${outside}:${port}/${i}`, limits)).rejects.toMatchObject({ code: "forbidden" });
  other.close();
});

test("R40: a redirect never leaves encryption, and to it or within it is followed", async () => {
  const { root, ...own } = await serverIdentity();
  const encrypted = await startServer(own);
  try {
    const trusting = createHttpClient({ guard: createAddressGuard(), extraRoots: root });
    server.answer("/jwks", json("forged"));
    server.answer("/up", redirect(`${encrypted.url}/jwks`));
    encrypted.answer("/jwks", json("keys"));
    encrypted.answer("/within", redirect("/jwks"));
    encrypted.answer("/down", redirect(`${server.url}/jwks`));
    encrypted.answer("/later", redirect("/down"));
    for (const url of [`${encrypted.url}/within`, `${server.url}/up`])
      expect(Buffer.from(await trusting.get(url, limits)).toString()).toBe('"keys"');
    for (const path of ["/down", "/later"])
      await expect(trusting.get(`${encrypted.url}${path}`, limits)).rejects.toMatchObject({ code: "forbidden" });
    expect(server.asked).not.toContain("/jwks");
  } finally {
    await encrypted.close();
  }
});

test("proxies of the environment are not used", async () => {
  server.answer("/direct", json("direct"));
  const proxies = ["http_proxy", "HTTP_PROXY", "https_proxy", "NODE_USE_ENV_PROXY"];
  try {
    for (const name of proxies) vi.stubEnv(name, name === "NODE_USE_ENV_PROXY" ? "1" : "http://127.0.0.1:1");
    const fresh = createHttpClient({ guard: createAddressGuard() });
    expect(Buffer.from(await fresh.get(`${server.url}/direct`, limits)).toString()).toBe('"direct"');
  } finally {
    vi.unstubAllEnvs();
  }
});

test("can be told to stop", async () => {
  const stop = new AbortController();
  server.answer("/silent", () => stop.abort());
  await expect(get("/silent", { ...limits, signal: stop.signal } as typeof limits)).rejects.toThrow();
});
