/** `fairlead run` as a person uses it: processes joined to a mesh, one stopped, one deleted, one killed. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decode, encode } from "dns-packet";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { createKubeClient, type KubeClient, loadKubeconfig } from "../../src/kube/index.ts";
import { readRecord } from "../../src/lib/index.ts";
import { standaloneKinds } from "../../src/standalone/index.ts";
import { lacks } from "../require.ts";
import { anyPort, fairlead, type Started, startFairlead } from "./fairlead.ts";

const { pods, services, leases } = standaloneKinds;
const server = `require("node:http").createServer((_, answer) => answer.end("hello")).listen(8000)`;
/** Asks without a pause, and says how many answers were good or bad so far. */
const asker = `
  require("node:http").createServer((_, answer) => answer.end(JSON.stringify({ good, bad }))).listen(9000);
  let good = 0;
  const bad = [];
  (async () => {
    for (;;)
      await fetch("http://web:8000/").then(
        async (answer) => { const text = await answer.text(); answer.ok ? good++ : bad.push(answer.status + " " + text); },
        (error) => bad.push(String(error)));
  })();
`;

/** Knows one name, and remembers what it was asked. */
async function startNameServer(known: string, data: string) {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (message, { port, address }) => {
    const { id, questions = [] } = decode(message);
    const name = questions[0]?.name ?? "";
    asked.push(name);
    // 3: there is no such name.
    const flags = name === known ? 0 : 3;
    const answers = name === known && questions[0]?.type === "A" ? [{ type: "A", name, ttl: 5, data } as const] : [];
    socket.send(encode({ type: "response", id, flags, questions, answers }), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { asked, address: `127.0.0.1:${socket.address().port}`, close: () => socket.close() };
}

describe.skipIf(lacks("root", "envoy", "iptables"))("run", { timeout: 300_000 }, () => {
  const data = mkdtempSync(join(tmpdir(), "fairlead-run-"));
  const running: Started[] = [];
  let client: KubeClient | undefined;
  afterEach(async () => {
    client?.close();
    for (const one of running.splice(0).reverse()) {
      one.child.kill("SIGTERM");
      await one.exited;
    }
  });
  afterAll(() => rmSync(data, { recursive: true, force: true }));

  const start = (name: string, port: number, app: string, script: string): Started => {
    const flags = ["--data", data, "--name", name, "--labels", `app=${app}`, "--port", String(port)];
    const started = startFairlead(["run", ...flags, "--", process.execPath, "-e", script]);
    running.push(started);
    return started;
  };
  const ready = (started: Started, name: string) =>
    expect.poll(started.stderr, { timeout: 300_000, interval: 50 }).toContain(`default/${name} is ready at`);

  test("--expose makes a Service; a client needs no port and ends with its own status", async () => {
    const mesh = startFairlead(["up", "--data", data, ...anyPort]);
    running.push(mesh);
    await mesh.until("ready\n");
    const common = ["run", "--data", data, "--name"];
    const command = ["--", process.execPath, "-e"];
    const web = startFairlead([...common, "shop", "--port", "8000", "--expose", ...command, server]);
    running.push(web);
    await ready(web, "shop");
    expect(web.stderr()).not.toContain("no Service selects");
    const ask = `fetch("http://shop:8000/").then(async (a) => { console.log(await a.text()); process.exit(7); })`;
    const asking = startFairlead([...common, "client", ...command, ask]);
    expect(await asking.exited).toBe(7);
    expect(asking.stderr()).toContain("[client] hello");
    // What nobody can reach is told how to be reached; a client without ports has nothing to be reached at.
    expect(asking.stderr()).not.toContain("no Service selects");
    const alone = startFairlead([...common, "alone", "--port", "8000", ...command, server]);
    running.push(alone);
    await ready(alone, "alone");
    expect(alone.stderr()).toContain("no Service selects default/alone yet: --expose makes one");
  });

  test("names outside the mesh are asked of the upstream, those inside never", async () => {
    const upstream = await startNameServer("outside.example", "192.0.2.7");
    try {
      const mesh = startFairlead(["up", "--data", data, "--dns-upstream", upstream.address, ...anyPort]);
      running.push(mesh);
      await mesh.until("ready\n");
      const ask = `
        const { lookup } = require("node:dns/promises");
        const say = (name) => lookup(name, { family: 4 }).then(({ address }) => address, ({ code }) => code);
        Promise.all(["outside.example", "nobody.example", "nobody.default.svc.cluster.local"].map(say)).then((all) => console.log(all.join(" ")));
      `;
      const client = startFairlead(["run", "--data", data, "--name", "resolver", "--", process.execPath, "-e", ask]);
      expect(await client.exited).toBe(0);
      expect(client.stderr()).toContain("[resolver] 192.0.2.7 ENOTFOUND ENOTFOUND");
      expect(upstream.asked.some((name) => name.endsWith("cluster.local"))).toBe(false);
    } finally {
      upstream.close();
    }
  });

  test("halting the mesh or stopping a replica under load fails no request; a deleted Pod ends its process", async () => {
    const mesh = startFairlead(["up", "--data", data, ...anyPort]);
    running.push(mesh);
    await mesh.until("ready\n");
    const api = createKubeClient(await loadKubeconfig({ paths: [join(data, "kubeconfig")], env: {} }));
    client = api;
    await api.create(services, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "default" },
      spec: { selector: { app: "web" }, ports: [{ name: "http", port: 8000 }] },
    });
    const [one, two] = ["web-1", "web-2"].map((name) => start(name, 8000, "web", server));
    if (!one || !two) throw new Error("not started");
    await Promise.all([ready(one, "web-1"), ready(two, "web-2")]);
    const { metadata, spec, status } = await api.get(pods, { name: "web-1", namespace: "default" });
    expect(metadata.annotations).toMatchObject({
      "sidecar.istio.io/status": expect.stringContaining('"containers":["istio-proxy"]'),
      "prometheus.io/port": "15020",
    });
    expect(metadata.labels).toMatchObject({ "security.istio.io/tlsMode": "istio" });
    expect(JSON.stringify(spec)).toContain('"args":["istio-iptables","-p","15001"');
    expect(JSON.stringify(status)).toContain('"reason":"Completed"');
    const asking = start("asker", 9000, "asker", asker);
    await ready(asking, "asker");
    const address = /default\/asker is ready at (\S+)/.exec(asking.stderr())?.[1];
    const tally = async (): Promise<{ good: number; bad: readonly string[] }> =>
      JSON.parse(await (await fetch(`http://${address}:9000/`)).text());
    await expect.poll(async () => (await tally()).good, { timeout: 300_000 }).toBeGreaterThan(100);
    const before = await tally();

    // Traffic does not need whoever started the mesh.
    mesh.child.kill("SIGSTOP");
    const halted = await tally();
    await expect.poll(async () => (await tally()).good, { timeout: 300_000 }).toBeGreaterThan(halted.good + 300);
    mesh.child.kill("SIGCONT");
    expect((await tally()).bad.slice(before.bad.length)).toEqual([]);

    one.child.kill("SIGINT");
    expect(await one.exited).toBe(0);
    const after = (await tally()).good;
    await expect.poll(async () => (await tally()).good, { timeout: 300_000 }).toBeGreaterThan(after + 100);
    expect((await tally()).bad.slice(before.bad.length)).toEqual([]);
    expect(await api.find(pods, { name: "web-1", namespace: "default" })).toBeUndefined();

    await api.delete(pods, { name: "web-2", namespace: "default" });
    expect(await two.exited).toBe(0);
    expect(await api.find(pods, { name: "web-2", namespace: "default" })).toBeUndefined();
    expect(await api.find(leases, { name: "run-web-2", namespace: "default" })).toBeUndefined();
  });

  test.each(["SIGTERM", "SIGKILL"] as const)(
    "processes outlive an `up` that is ended by %s, and take part in the next one",
    async (signal) => {
      const up = async (): Promise<Started> => {
        const mesh = startFairlead(["up", "--data", data, ...anyPort]);
        running.push(mesh);
        await mesh.until("ready\n");
        return mesh;
      };
      const first = await up();
      const [server1, asker1, asker2] = ["server", "asker", "later"].map((name) => `${name}-${signal}`.toLowerCase());
      if (!server1 || !asker1 || !asker2) throw new Error("no names");
      const clientOf = async () =>
        createKubeClient(await loadKubeconfig({ paths: [join(data, "kubeconfig")], env: {} }));
      client = await clientOf();
      await client.create(services, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: server1, namespace: "default" },
        spec: { selector: { app: server1 }, ports: [{ name: "http", port: 8000 }] },
      });
      const ask = `require("node:http").createServer((_, answer) =>
        fetch("http://${server1}:8000/").then(async (reply) => answer.end(reply.status + await reply.text()), (error) => answer.end(String(error.cause)))
      ).listen(8000)`;
      const served = start(server1, 8000, server1, server);
      const asking = start(asker1, 8000, asker1, ask);
      await Promise.all([ready(served, server1), ready(asking, asker1)]);
      const through = (asker: Started) => async (): Promise<string> =>
        (await fetch(`http://${/is ready at (\S+)/.exec(asker.stderr())?.[1]}:8000/`)).text();
      await expect.poll(through(asking), { timeout: 300_000 }).toBe("200hello");
      const uid = async () => (await client?.find(pods, { name: server1, namespace: "default" }))?.metadata.uid;
      const lease = { name: `run-${server1}`, namespace: "default" };
      const before = await uid();
      first.child.kill(signal);
      await first.exited;
      // The API is a process of its own, which goes on until the next `up`.
      if (signal === "SIGKILL") expect(await uid()).toBe(before);
      else await expect.poll(served.stderr, { timeout: 300_000 }).toContain("API is away");
      // Names, certificates and routes are with the agents and Envoys.
      for (let i = 0; i < 20; i++) expect(await through(asking)()).toBe("200hello");

      await up();
      client.close();
      client = await clientOf();
      // The runner may not have noticed that the API was another for a moment: its Lease tells that it has found the new one.
      const back = new Date().toISOString();
      const renewed = async () => readRecord((await client?.find(leases, lease))?.spec).renewTime;
      await expect.poll(async () => String(await renewed()) > back, { timeout: 300_000 }).toBe(true);
      if (signal === "SIGTERM") expect(served.stderr()).toContain("API is back");
      expect(await uid()).toBe(before);
      for (let i = 0; i < 20; i++) expect(await through(asking)()).toBe("200hello");
      const later = start(asker2, 8000, asker2, ask);
      await ready(later, asker2);
      await expect.poll(through(later), { timeout: 300_000 }).toBe("200hello");
    },
  );

  test("what a killed runner left is removed by `down`, and nothing of the living", async () => {
    const mesh = startFairlead(["up", "--data", data, ...anyPort]);
    running.push(mesh);
    await mesh.until("ready\n");
    const killed = start("killed", 8000, "killed", server);
    const kept = start("kept", 8000, "kept", server);
    await Promise.all([ready(killed, "killed"), ready(kept, "kept")]);
    killed.child.kill("SIGKILL");
    await killed.exited;
    const { status, stdout, stderr } = await fairlead(["down", "--data", data]);
    expect(stdout).toMatch(/^[1-9]\d* leftovers removed\n$/);
    expect(stderr).toContain("still running");
    expect(status).toBe(1);
    expect(kept.child.exitCode).toBeNull();
  });
});
