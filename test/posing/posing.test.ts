/** A Pod that answers where agents look for the control plane, because it has poisoned their DNS: in namespaces, with a real agent and Envoy. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { encodeReply } from "../../src/agent/dns/message.ts";
import { createDnsServer } from "../../src/agent/dns/server.ts";
import { type AgentHarness, createAgentHarness, eventually, tlsListener, token } from "../../src/agent/testing.ts";
import { createCertificateAuthority, createSelfSignedBundle } from "../../src/ca/index.ts";
import { AggregatedDiscoveryService } from "../../src/gen/envoy/service/discovery/v3/ads_pb.js";
import { silentLogger } from "../../src/lib/index.ts";
import { createRpcClient, protoMethod, status } from "../../src/rpc/index.ts";
import { lacks } from "../require.ts";
import { createTrafficNetwork } from "../traffic/network.ts";
import type { Order } from "./impostor-process.ts";
import { createImpostorServer, type Visit } from "./impostor-server.ts";
import { createImpostors, type Impostor } from "./impostors.ts";

const method = protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources);
const name = "istiod.istio-system.svc";
/** Below those that are given out. */
const laterPort = 9000;
const run = promisify(execFile);
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Answers that the name has this address, until another is told. */
async function startNameServer(host: string): Promise<{ leadTo(address: string): void }> {
  let current = host;
  const server = await createDnsServer({
    addresses: [host],
    port: 53,
    answer: async (query, _, max) => {
      const answers = query.type === "A" ? [{ type: "A", name: query.name, ttl: 0, data: current } as const] : [];
      return encodeReply(query, { code: "ok", answers }, max);
    },
    log: silentLogger,
  });
  closers.push(() => server.close());
  return {
    leadTo(address) {
      current = address;
    },
  };
}

function resolveBy(namespace: string, server: string): void {
  const folder = `/etc/netns/${namespace}`;
  mkdirSync(folder, { recursive: true });
  closers.push(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "resolv.conf"), `nameserver ${server}\n`);
}

/** Resolves when it listens; `visits` fills up as callers go. */
async function startImpostor(namespace: string, order: Order): Promise<readonly Visit[]> {
  const file = join(import.meta.dirname, "impostor-process.ts");
  const child: ChildProcess = spawn("ip", ["netns", "exec", namespace, process.execPath, file, JSON.stringify(order)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  closers.push(() => child.kill("SIGKILL"));
  const visits: Visit[] = [];
  await new Promise<void>((resolve, reject) => {
    child.once("exit", () => reject(new Error("the impostor ended")));
    if (child.stdout)
      createInterface(child.stdout).on("line", (line) => {
        if (line === "listening") resolve();
        else visits.push(JSON.parse(line));
      });
  });
  return visits;
}

/** What Envoy listens on beside its own ports, asked from inside the Pod. */
async function listeners(namespace: string, { ports }: AgentHarness): Promise<string> {
  const ask = `fetch("http://127.0.0.1:${ports.admin}/listeners").then((a) => a.text()).then(console.log)`;
  return (await run("ip", ["netns", "exec", namespace, process.execPath, "-e", ask])).stdout;
}

/** To one without TLS goes what begins TLS, and to others nothing. */
function expectNothingGiven({ shown }: Impostor, said: string): void {
  if (shown) expect(said).toBe("");
  else expect(said.charCodeAt(0)).toBe(0x16);
  expect(said).not.toContain(token);
}

async function listen(server: Server): Promise<number> {
  closers.push(() => server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const bound = server.address();
  return typeof bound === "object" && bound ? bound.port : 0;
}

test("P01: whatever somebody shows who is not the control plane, he is sent nothing, and it is said what is wrong", async () => {
  const now = (): Date => new Date();
  const bundle = await createSelfSignedBundle({ organization: "cluster.local", now: now() });
  const mesh = createCertificateAuthority({ bundle, now });
  for (const impostor of await createImpostors(mesh, name)) {
    const visits = Promise.withResolvers<Visit>();
    const port = await listen(createImpostorServer([impostor.shown], visits.resolve));
    const client = createRpcClient({
      target: { host: "127.0.0.1", port },
      tls: () => ({ ca: mesh.roots(), serverName: name }),
      metadata: async () => ({ authorization: `Bearer ${token}` }),
    });
    closers.push(() => client.close());
    const { messages } = await client.stream(method);
    await expect(messages.next()).rejects.toMatchObject({
      status: status.unavailable,
      message: `127.0.0.1:${port} is not trusted, and was sent nothing: ${impostor.said}`,
    });
    expectNothingGiven(impostor, (await visits.promise).said);
  }
});

describe.skipIf(lacks("root", "envoy"))("a Pod that answers in the control plane's place", () => {
  test("P01: is given no token and no request, whatever it shows; Envoy keeps what it has, and the agent says why", async () => {
    const network = await createTrafficNetwork();
    closers.push(() => network.remove());
    const [planeAddress, pod, evil] = [await network.hostAddress(), await network.pod(), await network.pod()];
    const names = await startNameServer(planeAddress);
    resolveBy(pod.namespace, planeAddress);
    const harness = await createAgentHarness({
      ...{ planeAddress, planeName: name, podAddress: pod.address },
      enter: ["ip", "netns", "exec", pod.namespace],
    });
    closers.push(() => harness.close());
    harness.send(tlsListener(harness.ports.listener));
    const all = await createImpostors(harness.authority, name);
    const impostors = all.filter(({ isWorkload, shown }) => isWorkload || !shown);
    const shown = impostors.map((impostor) => impostor.shown ?? { cert: "", key: "" });
    const visits = await startImpostor(evil.namespace, { port: harness.ports.discovery, shown });
    harness.spawn({ FAIRLEAD_REPORT_INTERVAL: "0s" });
    await harness.untilReady();

    names.leadTo(evil.address);
    await harness.closeControlPlane();
    const logged = (): string => harness.log.join("");
    const unsaid = async (): Promise<readonly string[]> =>
      impostors
        .map(({ said }) => `${name}:${harness.ports.discovery} is not trusted, and was sent nothing: ${said}`)
        .filter((line) => !logged().includes(line));
    await eventually(unsaid, (lines) => lines.length === 0);
    await eventually(
      async () => visits.length,
      (count) => count >= impostors.length,
    );
    for (const { index, said } of visits) {
      const impostor = impostors[index];
      if (impostor) expectNothingGiven(impostor, said);
    }
    expect(logged()).toContain("Envoy keeps its configuration");
    expect(await listeners(pod.namespace, harness)).toContain(`127.0.0.1:${harness.ports.listener}`);

    // The true one is gone to again, without being asked to.
    harness.send(tlsListener(laterPort));
    names.leadTo(planeAddress);
    await harness.openControlPlane();
    await eventually(
      () => listeners(pod.namespace, harness),
      (text) => text.includes(`127.0.0.1:${laterPort}`),
    );
  });
});
