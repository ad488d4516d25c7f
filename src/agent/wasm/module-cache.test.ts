import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createHttpClient } from "../../fetch/index.ts";
import { createAddressGuard, silentLogger } from "../../lib/index.ts";
import { createWasmMetrics } from "./metrics.ts";
import { createModuleCache, type ModuleCache, type ModuleCacheOptions, type ModuleRequest } from "./module-cache.ts";
import {
  answeringModule,
  artifactImage,
  containerImage,
  sha256,
  startTestServer,
  type TestServer,
  tar,
} from "./testing.ts";

const module = answeringModule(418);
const other = answeringModule(419);
let folder: string;
let server: TestServer;
let cache: ModuleCache;
const metrics = createWasmMetrics();

const open = (changes: Partial<ModuleCacheOptions> = {}): ModuleCache =>
  createModuleCache({
    folder,
    http: createHttpClient({ guard: createAddressGuard() }),
    maxBytes: 64 * 1024,
    requestTimeoutMs: 10_000,
    maxRetries: 1,
    isInsecure: () => false,
    expiryMs: 1000,
    purgeMs: 10,
    now: () => new Date(),
    random: () => 0,
    metrics,
    log: silentLogger,
    ...changes,
  });

beforeEach(async () => {
  folder = join(mkdtempSync(join(tmpdir(), "fl-wasm-")), "cache");
  server = await startTestServer();
  cache = open();
});
afterEach(async () => {
  await server.close();
  rmSync(join(folder, ".."), { recursive: true });
});

const request = (path: string, changes: Partial<ModuleRequest> = {}): ModuleRequest => ({
  url: path.startsWith("oci:") ? path : `http://${server.host}${path}`,
  checksum: "",
  pullSecret: undefined,
  timeoutMs: 20_000,
  resource: "r",
  version: "1",
  policy: "UNSPECIFIED_POLICY",
  ...changes,
});
const image = (name: string): string => `oci://${server.host}/${name}`;
const get = async (wanted: ModuleRequest, from = cache): Promise<Uint8Array | string> => {
  const found = await from.get(wanted);
  return "file" in found ? new Uint8Array(readFileSync(found.file)) : found.result;
};

describe("from an HTTP server", () => {
  test.each([
    ["bare", module],
    ["compressed", gzipSync(module)],
    ["in an archive", tar({ "x.wasm": module })],
    ["in a compressed archive", gzipSync(tar({ "x.wasm": module }))],
  ])("%s", async (_, bytes) => {
    server.serve("/m", bytes);
    expect(await get(request("/m", { checksum: sha256(module) }))).toEqual(module);
    expect(await get(request("/m"))).toEqual(module);
    // What is here is not fetched again.
    expect(server.requests).toEqual(["GET /m"]);
  });

  test("what is not what was asked for is refused", async () => {
    server.serve("/m", module);
    server.serve("/text", Buffer.from("<html>"));
    server.serve("/long", Buffer.concat([module, Buffer.alloc(64 * 1024)]));
    server.serve("/bomb", gzipSync(Buffer.concat([module, Buffer.alloc(1024 * 1024)])));
    expect(await get(request("/m", { checksum: sha256(other) }))).toBe("checksum_mismatched");
    expect(await get(request("/text"))).toBe("fetch_failure");
    expect(await get(request("/long"))).toBe("download_failure");
    expect(await get(request("/bomb"))).toBe("download_failure");
    expect(await get(request("/none"))).toBe("download_failure");
    expect(await get(request("", { url: "ftp://x/y" }))).toBe("download_failure");
  });

  test.each([20_000.5, 1e12])("within %d ms, which no timer can have", async (timeoutMs) => {
    server.serve("/m", module);
    expect(await get(request("/m", { timeoutMs }))).toEqual(module);
  });

  test("those that are not small are fetched one by one, also when they are so only once unpacked", async () => {
    const large = Buffer.concat([module, Buffer.alloc(8 * 1024)]);
    const careful = open({ smallBytes: 4 * 1024 });
    let [active, peak] = [0, 0];
    const paths = ["/a", "/b", "/c", "/packed"];
    for (const path of paths)
      server.paths.set(path, (_, response) => {
        const bytes = path === "/packed" ? gzipSync(large) : large;
        const isAgain = server.requests.filter((one) => one === `GET ${path}`).length > 1;
        if (!isAgain) return void response.writeHead(200, { "content-length": bytes.length }).end(bytes);
        peak = Math.max(peak, ++active);
        const answer = (): void => {
          active--;
          response.writeHead(200).end(bytes);
        };
        // Time for the others to come, if they would.
        return void setTimeout(answer, 50);
      });
    server.serve("/small", module);
    const got = await Promise.all(["/small", ...paths].map((path) => get(request(path), careful)));
    expect(got).toEqual([module, ...paths.map(() => new Uint8Array(large))]);
    expect(peak).toBe(1);
    expect(server.requests.filter((one) => one === "GET /small")).toHaveLength(1);
  });

  test("a server that is busy is asked again; one that says no is not", async () => {
    let left = 2;
    server.paths.set("/m", (_, response) => void response.writeHead(left-- > 0 ? 503 : 200).end(module));
    server.paths.set("/no", (_, response) => void response.writeHead(403).end());
    const patient = open({ maxRetries: 3 });
    expect(await get(request("/m"), patient)).toEqual(module);
    expect(await get(request("/no"), patient)).toBe("download_failure");
    expect(server.requests).toEqual(["GET /m", "GET /m", "GET /m", "GET /no"]);
  });

  test("redirects lead neither to metadata services nor on without end", async () => {
    const to = (location: string) => (_: IncomingMessage, response: ServerResponse) =>
      void response.writeHead(302, { location }).end();
    server.paths.set("/meta", to("http://169.254.169.254/latest/meta-data"));
    server.paths.set("/loop", to("/loop"));
    for (const path of ["/meta", "/loop"]) expect(await get(request(path))).toBe("download_failure");
    expect(server.requests.filter((one) => one === "GET /loop")).toHaveLength(4);
  });

  test("ranges that an installation blocks are not called", async () => {
    const guard = createAddressGuard(["127.0.0.0/8"]);
    server.serve("/m", module);
    expect(await get(request("/m"), open({ http: createHttpClient({ guard }) }))).toBe("download_failure");
    expect(server.requests).toEqual([]);
  });
});

describe("from a registry", () => {
  test.each([
    ["a container image", containerImage(module)],
    ["an artifact", artifactImage(module)],
  ])("%s, by tag and by digest", async (_, made) => {
    server.push("team/filter", "v1", made);
    const digest = sha256(made.manifest);
    expect(await get(request(image("team/filter:v1"), { checksum: digest }))).toEqual(module);
    expect(await get(request(image(`team/filter@sha256:${digest}`)))).toEqual(module);
    expect(await get(request(image("team/filter:v1"), { checksum: sha256(module) }))).toBe("checksum_mismatched");
    expect(await get(request(image("team/filter:v2")))).toBe("manifest_failure");
  });

  test("of an image for several platforms one is taken, and both digests name it", async () => {
    const made = artifactImage(module);
    server.push("filter", "inner", made);
    const platform = { os: "linux", architecture: "amd64" };
    const manifests = [{ digest: `sha256:${sha256(made.manifest)}`, platform }];
    const list = { manifest: Buffer.from(JSON.stringify({ schemaVersion: 2, manifests })), blobs: new Map() };
    server.push("filter", "v1", list);
    expect(await get(request(image("filter:v1"), { checksum: sha256(list.manifest) }))).toEqual(module);
    expect(await get(request(image("filter:v1"), { checksum: sha256(made.manifest) }))).toEqual(module);
  });

  test("a registry that gives something else than it says is refused", async () => {
    const made = containerImage(module);
    server.push("filter", "v1", { ...made, blobs: new Map([...made.blobs.keys()].map((name) => [name, other])) });
    expect(await get(request(image("filter:v1")))).toBe("download_failure");
    server.serve(`/v2/filter/manifests/sha256:${"0".repeat(64)}`, made.manifest);
    expect(await get(request(image(`filter@sha256:${"0".repeat(64)}`)))).toBe("manifest_failure");
  });

  test("the pull secret is shown for a token of the registry's own, and to nobody else", async () => {
    const made = artifactImage(module);
    server.push("filter", "v1", made);
    const open = server.paths.get("/v2/filter/manifests/v1");
    server.paths.set("/v2/filter/manifests/v1", (incoming, response) => {
      const realm = `Bearer realm="http://${server.host}/token",service="s",scope="repository:other:push"`;
      if (incoming.headers.authorization === "Bearer t") open?.(incoming, response);
      else response.writeHead(401, { "www-authenticate": realm }).end();
    });
    server.serve("/token", Buffer.from('{"token":"t"}'));
    const auths = { [server.host]: { username: "u", password: "p" }, "elsewhere.example": { auth: "x" } };
    const pullSecret = JSON.stringify({ auths });
    expect(await get(request(image("filter:v1"), { pullSecret }))).toEqual(module);
    const basic = Buffer.from("u:p").toString("base64");
    expect(server.requests.slice(0, 3)).toEqual([
      "GET /v2/filter/manifests/v1",
      `GET /token?service=s&scope=repository%3Afilter%3Apull as Basic ${basic}`,
      "GET /v2/filter/manifests/v1 as Bearer t",
    ]);
  });

  test("a registry cannot send the agent, or the secret, to this machine or to private addresses", async () => {
    const asked = await startTestServer();
    const secret = JSON.stringify({ auths: { [server.host]: { username: "u", password: "p" } } });
    for (const realm of [
      `http://${asked.host}/token`,
      "http://10.0.0.1/token",
      "http://localhost/token",
      "file:///x",
    ]) {
      server.paths.set(
        "/v2/filter/manifests/v1",
        (_, response) => void response.writeHead(401, { "www-authenticate": `Bearer realm="${realm}"` }).end(),
      );
      expect(await get(request(image("filter:v1"), { pullSecret: secret }))).toBe("manifest_failure");
    }
    expect(asked.requests).toEqual([]);
    await asked.close();
  });

  test("a blob is fetched from where the registry says, without the credentials", async () => {
    const store = await startTestServer();
    const made = artifactImage(module);
    server.push("filter", "v1", made);
    for (const [digest, bytes] of made.blobs) {
      store.serve(`/${digest}`, bytes);
      server.paths.set(
        `/v2/filter/blobs/${digest}`,
        (_, response) => void response.writeHead(307, { location: `http://${store.host}/${digest}` }).end(),
      );
    }
    const manifest = server.paths.get("/v2/filter/manifests/v1");
    server.paths.set("/v2/filter/manifests/v1", (incoming, response) => {
      if (incoming.headers.authorization) manifest?.(incoming, response);
      else response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
    });
    const pullSecret = JSON.stringify({ auths: { [`http://${server.host}/v1/`]: { auth: "dTpw" } } });
    expect(await get(request(image("filter:v1"), { pullSecret }))).toEqual(module);
    expect(server.requests.at(-1)).toMatch(/ as Basic dTpw$/);
    expect(store.requests).toEqual([`GET /sha256:${sha256(module)}`]);
    await store.close();
  });
});

describe("what is kept", () => {
  test("`latest` and Always ask again for each version of the plugin; the module is fetched only when it is another", async () => {
    server.push("filter", "latest", artifactImage(module));
    expect(await get(request(image("filter:latest")))).toEqual(module);
    expect(await get(request(image("filter:latest")))).toEqual(module);
    expect(await get(request(image("filter:latest"), { version: "2" }))).toEqual(module);
    expect(server.requests.map((one) => one.replace(/sha256:\w+/, "…"))).toEqual([
      "GET /v2/filter/manifests/latest",
      "GET /v2/filter/blobs/…",
      "GET /v2/filter/manifests/latest",
    ]);
    server.push("filter", "latest", artifactImage(other));
    expect(await get(request(image("filter:latest"), { version: "2" }))).toEqual(module);
    expect(await get(request(image("filter:latest"), { version: "3", policy: "IfNotPresent" }))).toEqual(module);
    expect(await get(request(image("filter:latest"), { version: "4" }))).toEqual(other);
  });

  test("over a restart, and while the server is away", async () => {
    server.push("filter", "v1", artifactImage(module));
    server.serve("/m", other);
    await get(request(image("filter:v1")));
    await get(request("/m"));
    await server.close();
    const next = open();
    expect(await get(request(image("filter:v1")), next)).toEqual(module);
    // Asked for anew it cannot be had, and the last one stays; with a checksum only that module will do.
    expect(await get(request("/m", { policy: "Always", version: "9" }), next)).toEqual(other);
    expect(await get(request("/m", { checksum: sha256(module) }), next)).toBe("download_failure");
  });

  test("a file that somebody has changed is fetched again", async () => {
    server.serve("/m", module);
    const found = await cache.get(request("/m"));
    if (!("file" in found)) throw new Error("not found");
    writeFileSync(found.file, other);
    expect(await get(request("/m"), open())).toEqual(module);
    expect(server.requests).toHaveLength(2);
  });

  test.each<[string, (file: string) => void]>([
    ["is gone", (file) => rmSync(file)],
    [
      "is a link to somewhere else",
      (file) => {
        rmSync(file);
        symlinkSync("/dev/zero", file);
      },
    ],
  ])("a file that %s is fetched again, by this agent and the next", async (_, change) => {
    server.serve("/m", module);
    for (const next of [cache, open()]) {
      await get(request("/m"));
      change(join(folder, `${sha256(module)}.wasm`));
      expect(await get(request("/m"), next)).toEqual(module);
    }
    expect(server.requests).toHaveLength(3);
  });

  test("a list that is a link is not read, and what no list names goes", async () => {
    server.serve("/m", module);
    server.serve("/n", other);
    await get(request("/m"));
    for (const name of [`${"0".repeat(64)}.wasm`, ".0123456789abcdef.tmp"]) writeFileSync(join(folder, name), other);
    writeFileSync(join(folder, "README"), "of somebody else");
    expect(await get(request("/n"), open())).toEqual(other);
    const files = [`${sha256(module)}.wasm`, `${sha256(other)}.wasm`, "index.json", "README"];
    expect(readdirSync(folder).sort()).toEqual(files.sort());
    rmSync(join(folder, "index.json"));
    symlinkSync("/dev/zero", join(folder, "index.json"));
    expect(await get(request("/m"), open())).toEqual(module);
    expect(server.requests).toEqual(["GET /m", "GET /n", "GET /m"]);
  });

  test("as much as four of the largest modules; what was used last stays", async () => {
    const large = (kind: number): Uint8Array => Buffer.concat([module, Buffer.alloc(30_000, kind)]);
    let nowMs = 0;
    const kept = open({ now: () => new Date(nowMs++) });
    for (let kind = 0; kind < 10; kind++) {
      server.serve(`/${kind}`, large(kind));
      await get(request(`/${kind}`), kept);
      await get(request("/0"), kept);
    }
    const files = [0, 3, 4, 5, 6, 7, 8, 9].map((kind) => `${sha256(large(kind))}.wasm`);
    expect(readdirSync(folder).sort()).toEqual([...files, "index.json"].sort());
  });

  test("what is in use stays however long nobody asks", async () => {
    let nowMs = 0;
    const stop = new AbortController();
    const kept = open({ now: () => new Date(nowMs) });
    server.serve("/a", module);
    server.serve("/b", other);
    await get(request("/a"), kept);
    await get(request("/b"), kept);
    nowMs = 1500;
    kept.purge(stop.signal, () => [join(folder, `${sha256(module)}.wasm`)]);
    await expect.poll(() => readdirSync(folder).sort()).toEqual([`${sha256(module)}.wasm`, "index.json"].sort());
    stop.abort();
  });

  test("until nobody has asked for it for a while", async () => {
    let nowMs = 0;
    const stop = new AbortController();
    const kept = open({ now: () => new Date(nowMs) });
    server.serve("/a", module);
    server.serve("/b", other);
    await get(request("/a"), kept);
    nowMs = 900;
    await get(request("/b"), kept);
    nowMs = 1500;
    kept.purge(stop.signal);
    await expect.poll(() => readdirSync(folder).sort()).toEqual([`${sha256(other)}.wasm`, "index.json"].sort());
    stop.abort();
  });

  test("two who want the same wait for one fetch", async () => {
    server.serve("/m", module);
    const both = await Promise.all([get(request("/m")), get(request("/m", { resource: "s" }))]);
    expect(both).toEqual([module, module]);
    expect(server.requests).toEqual(["GET /m"]);
  });
});
