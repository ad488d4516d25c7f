/** The list/watch client against an API that misbehaves: a scripted server on real TLS. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createGraph } from "../../src/collections/index.ts";
import {
  createHttpSource,
  createKubeClient,
  createLeaseLock,
  fencedClient,
  type KindRef,
  type KubeClient,
  loadKubeconfig,
  type ObjectSource,
  runLeaderElection,
  type WatchedKind,
} from "../../src/kube/index.ts";
import { silentLogger } from "../../src/lib/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../../src/pki/index.ts";

type Script = (request: IncomingMessage, response: ServerResponse, url: URL) => void;

const kind: KindRef = { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true };
const dir = mkdtempSync(join(tmpdir(), "fairlead-faults-"));
const tokenFile = join(dir, "token");
let server: Server;
let client: KubeClient;
let source: ObjectSource | undefined;
let script: Script = (_request, response) => response.end();
const asked: string[] = [];
/** Each test follows a kind of its own, so that a late request of the one before is known as such. */
let followed = kind;
let follows = 0;
/** Of what is followed now. */
let failures = 0;

beforeAll(async () => {
  const { privateKey, publicKey } = await generateKey();
  const certificate = issueCertificate({
    profile: "ca",
    subject: { commonName: "test" },
    publicKey,
    signer: { certificate: undefined, key: privateKey },
    now: new Date(),
    ttlMs: 3600_000,
  });
  server = createServer(
    { cert: formatCertificate(certificate), key: formatPrivateKey(privateKey) },
    (request, response) => {
      const url = new URL(request.url ?? "", "https://x");
      if (/configmaps\d+$/.test(url.pathname) && !url.pathname.endsWith(`/${followed.plural}`)) {
        response.destroy();
        return;
      }
      asked.push(
        url.searchParams.has("watch")
          ? `watch ${url.searchParams.get("resourceVersion")}`
          : `list ${url.searchParams.get("continue") ?? ""}`.trim(),
      );
      script(request, response, url);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  writeFileSync(tokenFile, "first");
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [
      {
        name: "c",
        cluster: {
          server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
          "insecure-skip-tls-verify": true,
        },
      },
    ],
    users: [{ name: "u", user: { tokenFile: "token" } }],
  };
  writeFileSync(join(dir, "config"), JSON.stringify(config));
  client = createKubeClient(await loadKubeconfig({ paths: [join(dir, "config")], env: {} }));
});
afterEach(() => {
  source?.close();
  asked.length = 0;
});
afterAll(() => {
  client.close();
  server.closeAllConnections();
  server.close();
  rmSync(dir, { recursive: true, force: true });
});

const object = (name: string, version: number) => ({
  metadata: { name, namespace: "n", uid: name, resourceVersion: String(version) },
});
const list = (response: ServerResponse, version: number, names: readonly string[], token?: string): void => {
  response.end(
    JSON.stringify({
      metadata: { resourceVersion: String(version), continue: token },
      items: names.map((name) => object(name, version)),
    }),
  );
};
const status = (response: ServerResponse, code: number, headers: Record<string, string> = {}): void => {
  response.writeHead(code, headers).end(JSON.stringify({ kind: "Status", code, message: `answer ${code}` }));
};
const event = (response: ServerResponse, type: string, value: unknown): void => {
  response.write(`${JSON.stringify({ type, object: value })}\n`);
};
const follow = (play: Script, stallMs = 5000): WatchedKind => {
  script = play;
  followed = { ...kind, plural: `configmaps${++follows}` };
  const own = follows;
  failures = 0;
  source = createHttpSource({
    graph: createGraph(),
    client,
    log: silentLogger,
    random: () => 0,
    // The one before may still fail.
    onFailure: () => void (own === follows && failures++),
    stallMs,
    maxBackoffMs: 50,
  });
  return source.watchKind(followed);
};
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
};

test("K01: 410 in the middle of a watch lists again and applies the difference", async () => {
  let lists = 0;
  const watched = follow((_request, response, url) => {
    if (!url.searchParams.has("watch")) list(response, 10 * ++lists, lists === 1 ? ["a", "b"] : ["b", "c"]);
    else if (lists === 1) {
      event(response, "ERROR", { kind: "Status", code: 410, reason: "Expired" });
      response.end();
    } else response.flushHeaders();
  });
  const told: string[] = [];
  watched.objects.subscribe((key, now) => told.push(`${key} ${now ? "there" : "gone"}`));
  await until(() => lists === 2 && told.length >= 5);
  expect(told).toEqual(["n/a there", "n/b there", "n/a gone", "n/b there", "n/c there"]);
});

test("K02, K04: a watch that ends, is reset or stalls goes on at the last version", async () => {
  let watches = 0;
  const watched = follow((_request, response, url) => {
    if (!url.searchParams.has("watch")) return list(response, 1, []);
    watches++;
    event(response, "ADDED", object(`w${watches}`, watches + 1));
    if (watches === 1) response.end();
    else if (watches === 2) setTimeout(() => response.destroy(), 20);
    else if (watches === 4) event(response, "BOOKMARK", { metadata: { resourceVersion: "50" } });
    // The third says nothing more, and the connection stays open.
  }, 100);
  await until(() => watches >= 5);
  expect(asked.slice(0, 6)).toEqual(["list", "watch 1", "watch 2", "watch 3", "watch 4", "watch 50"]);
  expect(watched.objects.keys().slice(0, 4)).toEqual(["n/w1", "n/w2", "n/w3", "n/w4"]);
});

test("K05: pages; a page whose token has expired starts the list again", async () => {
  let firstPages = 0;
  const watched = follow((_request, response, url) => {
    if (url.searchParams.has("watch")) return response.flushHeaders();
    const token = url.searchParams.get("continue");
    if (token === null) {
      firstPages++;
      return list(response, 5, ["a"], "next");
    }
    return firstPages === 1 ? status(response, 410) : list(response, 5, ["b"]);
  });
  await watched.synced;
  expect(watched.objects.keys()).toEqual(["n/a", "n/b"]);
  expect(firstPages).toBe(2);
});

test("K05: 429 is waited out, and a rotated token is read again", async () => {
  let times: number[] = [];
  const watched = follow((request, response, url) => {
    if (url.searchParams.has("watch")) return response.flushHeaders();
    times.push(performance.now());
    if (times.length === 1) return status(response, 429, { "retry-after": "1" });
    if (request.headers.authorization === "Bearer first") {
      writeFileSync(tokenFile, "second");
      return status(response, 401);
    }
    return list(response, 3, ["a"]);
  });
  await watched.synced;
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(950);
  expect(watched.objects.keys()).toEqual(["n/a"]);
  times = [];
});

test("K02: while the API answers nothing but errors, what is here stays", async () => {
  let down = false;
  let refused = 0;
  const watched = follow((_request, response, url) => {
    if (down) {
      refused++;
      return status(response, 503);
    }
    if (!url.searchParams.has("watch")) return list(response, 3, ["a"]);
    down = true;
    event(response, "ERROR", { kind: "Status", code: 410 });
    return response.end();
  });
  await until(() => refused > 3);
  expect(watched.objects.keys()).toEqual(["n/a"]);
});

test("lists and watches that fail are told; a kind that is not served and a version that has gone are not", async () => {
  const answers = [404, 503, 410, 500];
  let watches = 0;
  const watched = follow((_request, response, url) => {
    const code = answers.shift();
    if (code !== undefined) return status(response, code);
    if (!url.searchParams.has("watch")) return list(response, 3, ["a"]);
    watches++;
    return watches === 1 ? status(response, 502) : response.flushHeaders();
  });
  await until(() => watches === 2);
  expect(watched.objects.keys()).toEqual(["n/a"]);
  expect(failures).toBe(3);
});

test("K02: an API that answers 504 at once is not asked in a tight loop", async () => {
  const times: number[] = [];
  follow((_request, response) => {
    times.push(performance.now());
    status(response, 504);
  });
  await until(() => times.length >= 8);
  expect((times[7] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(150);
});

test.each([
  ["does not answer", undefined],
  ["refuses writes, as when its store cannot be written", 507],
  ["fails", 500],
])("K07, D09: leadership ends by time alone while the API %s, and nothing is written after it", async (_, code) => {
  let answers = true;
  const writes: string[] = [];
  script = (request, response) => {
    if (!answers) return code === undefined ? undefined : status(response, code);
    if (request.method === "GET") return status(response, 404);
    writes.push(request.method ?? "");
    response.writeHead(201).end(JSON.stringify({ metadata: { name: "l", namespace: "n" } }));
  };
  const stop = new AbortController();
  const led = Promise.withResolvers<AbortSignal>();
  const election = runLeaderElection({
    lock: createLeaseLock({ client, namespace: "n", name: "l" }),
    identity: "me",
    now: () => new Date(),
    monotonicMs: () => performance.now(),
    log: silentLogger,
    durationMs: 600,
    renewMs: 50,
    signal: stop.signal,
    lead: led.resolve,
  });
  const fenced = fencedClient(client, election);
  const term = await led.promise;
  await fenced.create(kind, { ...object("a", 1), apiVersion: "v1", kind: "ConfigMap" });
  answers = false;
  await until(() => term.aborted);
  expect(election.leading).toBe(false);
  answers = true;
  writes.length = 0;
  await expect(fenced.delete(kind, { name: "a", namespace: "n" })).rejects.toThrow("no longer leads");
  expect(writes).not.toContain("DELETE");
  stop.abort();
  server.closeAllConnections();
  await election.done;
});

test("K01: 410 at once, and on a bookmark, list again; nothing that stays is taken away meanwhile", async () => {
  let [lists, watches] = [0, 0];
  const watched = follow((_request, response, url) => {
    if (!url.searchParams.has("watch")) return list(response, 10 * ++lists, ["a", "b"]);
    watches++;
    if (watches === 1) return status(response, 410);
    if (watches === 2) {
      event(response, "BOOKMARK", { metadata: { resourceVersion: "25" } });
      event(response, "ERROR", { kind: "Status", code: 410, reason: "Expired" });
      return response.end();
    }
    return response.flushHeaders();
  });
  const told: string[] = [];
  watched.objects.subscribe((key, now) => told.push(`${key} ${now ? "there" : "gone"}`));
  await until(() => watches === 3);
  expect(lists).toBe(3);
  expect(told.filter((line) => line.endsWith("gone"))).toEqual([]);
});

test("K03: events twice, late, in any order, of any type, and of a name that is used again", async () => {
  let sent = false;
  const watched = follow((_request, response, url) => {
    if (!url.searchParams.has("watch")) return list(response, 5, ["a", "b"]);
    if (sent) return response.flushHeaders();
    sent = true;
    const again = { metadata: { ...object("b", 30).metadata, uid: "other" } };
    event(response, "ADDED", object("a", 5));
    event(response, "ADDED", object("c", 6));
    event(response, "ADDED", object("c", 6));
    event(response, "MODIFIED", object("d", 7));
    event(response, "MODIFIED", object("d", 3));
    event(response, "NONSENSE", object("x", 8));
    event(response, "ADDED", "no object");
    event(response, "DELETED", object("c", 9));
    event(response, "DELETED", object("c", 9));
    event(response, "ADDED", again);
    event(response, "DELETED", object("b", 31));
    event(response, "ADDED", object("last", 32));
  });
  const told: string[] = [];
  watched.objects.subscribe((key, now, before) => {
    if (key === "n/b") told.push(`${before?.metadata.uid ?? "none"} ${now?.metadata.uid ?? "none"}`);
  });
  await until(() => watched.objects.get("n/last") !== undefined);
  expect(watched.objects.keys()).toEqual(["n/a", "n/b", "n/d", "n/last"]);
  expect(watched.objects.get("n/d")?.metadata.resourceVersion).toBe("7");
  // Another object of the same name: the old one's end, which comes late, does not take it away.
  expect(watched.objects.get("n/b")?.metadata.uid).toBe("other");
  expect(told.at(-1)).toContain("other");
});

test("K04: a bookmark with an older version moves nothing back", async () => {
  let watches = 0;
  follow((_request, response, url) => {
    if (!url.searchParams.has("watch")) return list(response, 50, []);
    watches++;
    event(response, "BOOKMARK", { metadata: { resourceVersion: watches === 1 ? "20" : "60" } });
    return response.end();
  });
  await until(() => watches >= 3);
  expect(asked.slice(0, 4)).toEqual(["list", "watch 50", "watch 50", "watch 60"]);
});

test("K05: 50,000 objects come in pages", async () => {
  const pages = 100;
  const watched = follow((_request, response, url) => {
    if (url.searchParams.has("watch")) return response.flushHeaders();
    const page = Number(url.searchParams.get("continue") ?? 0);
    const names = Array.from({ length: 500 }, (_, i) => `o${page * 500 + i}`);
    return list(response, 5, names, page + 1 < pages ? String(page + 1) : undefined);
  });
  await watched.synced;
  expect(watched.objects.size).toBe(50_000);
  expect(asked.filter((line) => line.startsWith("list"))).toHaveLength(pages);
});

test("K06: a kind that goes is off alone and comes back; an object that cannot be read costs no other", async () => {
  let [there, lists] = [false, 0];
  let open: ServerResponse | undefined;
  const watched = follow((_request, response, url) => {
    if (!there) return status(response, 404);
    if (url.searchParams.has("watch")) {
      open = response;
      return response.flushHeaders();
    }
    lists++;
    return response.end(
      JSON.stringify({
        metadata: { resourceVersion: "5" },
        items: [object("a", 5), null, { spec: 1 }, object("b", 5)],
      }),
    );
  });
  await watched.synced;
  expect(watched.served).toBe(false);
  there = true;
  await until(() => watched.objects.size === 2);
  expect(watched.served).toBe(true);
  there = false;
  open?.end();
  await until(() => !watched.served);
  expect(watched.objects.size).toBe(0);
  there = true;
  await until(() => watched.objects.size === 2);
  expect(lists).toBe(2);
});

test("K06: objects that are nested too deep cost no other, in a list and in a watch", async () => {
  const deep = (name: string, version: number) => ({
    ...object(name, version),
    spec: JSON.parse(`${"[".repeat(2_000)}${"]".repeat(2_000)}`),
  });
  const watched = follow((_request, response, url) => {
    if (!url.searchParams.has("watch"))
      return response.end(
        JSON.stringify({ metadata: { resourceVersion: "5" }, items: [object("a", 4), deep("b", 5)] }),
      );
    event(response, "ADDED", deep("c", 6));
    event(response, "MODIFIED", deep("a", 7));
    event(response, "ADDED", object("d", 8));
  });
  await until(() => watched.objects.get("n/d") !== undefined);
  expect(watched.objects.keys()).toEqual(["n/a", "n/d"]);
  expect(asked).toEqual(["list", "watch 5"]);
});

test("K07: a wall clock that jumps by an hour or a day, either way, moves no leadership", async () => {
  let record: Readonly<Record<string, unknown>> | undefined;
  let writes = 0;
  script = (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (request.method === "GET") return record ? response.end(JSON.stringify(record)) : status(response, 404);
      const body = JSON.parse(Buffer.concat(chunks).toString());
      record = { ...body, metadata: { ...body.metadata, resourceVersion: String(++writes) } };
      return response.end(JSON.stringify(record));
    });
  };
  let skewMs = 0;
  const stop = new AbortController();
  const terms: AbortSignal[] = [];
  const elect = (identity: string, skewed: boolean) =>
    runLeaderElection({
      lock: createLeaseLock({ client, namespace: "n", name: "skew" }),
      identity,
      now: () => new Date(Date.now() + (skewed ? 86_400_000 : skewMs)),
      monotonicMs: () => performance.now(),
      log: silentLogger,
      durationMs: 2_000,
      renewMs: 20,
      signal: stop.signal,
      lead: (term) => terms.push(term),
    });
  const first = elect("first", false);
  await until(() => first.leading);
  const second = elect("second", true);
  for (const jump of [-3_600_000, 3_600_000, 600_000, -600_000, 86_400_000, -86_400_000, 1_000]) {
    skewMs = jump;
    const seen = writes;
    await until(() => writes > seen + 1);
  }
  expect([first.leading, second.leading]).toEqual([true, false]);
  expect(terms.map((term) => term.aborted)).toEqual([false]);
  stop.abort();
  await Promise.all([first.done, second.done]);
});

test("K08: a thousand objects that go, and 5,000 that change, are few steps of the graph", async () => {
  const names = Array.from({ length: 6_000 }, (_, i) => `o${i}`);
  let open: ServerResponse | undefined;
  const graph = createGraph();
  script = (_request, response, url) => {
    if (!url.searchParams.has("watch")) return list(response, 5, names);
    open = response;
    return response.flushHeaders();
  };
  followed = { ...kind, plural: `configmaps${++follows}` };
  source = createHttpSource({ graph, client, log: silentLogger, random: () => 0 });
  const watched = source.watchKind(followed);
  await watched.synced;
  await until(() => open !== undefined);
  const before = graph.version;
  for (const [i, name] of names.entries())
    if (open) event(open, i < 1_000 ? "DELETED" : "MODIFIED", object(name, 10 + i));
  await until(() => watched.objects.get("n/o5999")?.metadata.resourceVersion === "6009");
  expect(watched.objects.size).toBe(5_000);
  expect(graph.version - before).toBeLessThan(600);
});
