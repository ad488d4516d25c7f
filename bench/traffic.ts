/**
 * `npm run bench -- traffic`: what reports on requests cost. Starts a control plane, lets simulated agents report edges at the
 * usual pace over TLS, and prints the processor time and memory that this takes, and what reading it back does.
 *
 *   npm run bench -- traffic --agents 1000 --edges 20 --distinct 5000 --seconds 30
 */
import { parseArgs } from "node:util";
import { create } from "@bufbuild/protobuf";
import { Edge_Side, FromAgentSchema, type ToAgent, TrafficService } from "../src/gen/fairlead/traffic_pb.js";
import { createKubeClient, kubeKinds, loadKubeconfig, requestToken } from "../src/kube/index.ts";
import { reportIntervalMs } from "../src/model/index.ts";
import { type ClientStream, createRpcClient, protoMethod, type RpcClient } from "../src/rpc/index.ts";
import { readFigures } from "./scale/figures.ts";
import { openApi } from "./scale/mesh-api.ts";
import { startStandalone } from "./scale/server.ts";

const { values } = parseArgs({
  args: process.argv.slice(2).filter((word) => word !== "traffic"),
  options: {
    agents: { type: "string", default: "1000" },
    edges: { type: "string", default: "20" },
    distinct: { type: "string", default: "5000" },
    seconds: { type: "string", default: "30" },
    connections: { type: "string", default: "50" },
  },
});
const numberOf = (name: keyof typeof values): number => Number(values[name]);
const [agents, edges, distinct, seconds] = [
  numberOf("agents"),
  numberOf("edges"),
  numberOf("distinct"),
  numberOf("seconds"),
];
const method = protoMethod(TrafficService.method.report);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const server = await startStandalone();
const api = await openApi(server.kubeconfig);
const kube = createKubeClient(await loadKubeconfig({ paths: [server.kubeconfig], env: {} }));
const clients: RpcClient[] = [];
const stop = new AbortController();
let [sent, bytes, acknowledged] = [0, 0, 0];
try {
  const { secure, monitoring } = server;
  if (!secure || !monitoring) throw new Error("the control plane does not say where its ports are");
  const token = await makeToken();
  const ca = (await api.authority())["root-cert.pem"] ?? "";
  for (let i = 0; i < numberOf("connections"); i++)
    clients.push(createRpcClient({ target: secure, tls: () => ({ ca }) }));
  const idle = await costOf(monitoring, 10);
  const running = Array.from({ length: agents }, (_, i) => simulate(i, token));
  // Every agent has reported twice, and what the first reports compile is compiled.
  await pause(2.2 * reportIntervalMs);
  const before = { sent, bytes };
  const busy = await costOf(monitoring, seconds);
  const reports = sent - before.sent;
  const memory = await readFigures(monitoring);
  const reading = await readBack(monitoring);
  const own = Math.max(0, busy - idle);
  process.stdout.write(
    [
      `${agents} agents with ${edges} edges each, ${distinct} distinct; ${reports} reports in ${seconds} s, ${acknowledged} of all ${sent} acknowledged`,
      `${((sent && bytes / sent) || 0).toFixed(0)} bytes a report, ${(bytes - before.bytes) / seconds / 1000} kB/s`,
      `processor: ${(idle * 100).toFixed(1)} % of a core before, ${(busy * 100).toFixed(1)} % with reports: ${((own * seconds * 1e6) / reports).toFixed(0)} µs a report`,
      `rings: ${reading.edges} edges, ${(reading.bytes / 1024 / 1024).toFixed(1)} MiB by their own account; ${reading.folded} folded; process ${memory.residentMiB.toFixed(0)} MiB, of it ${JSON.stringify(memory.parts)}`,
      `read back: ${(reading.answerBytes / 1e6).toFixed(1)} MB of JSON in ${reading.tookMs.toFixed(0)} ms`,
      `event loop late by p99 ${memory.loopDelayMs?.p99.toFixed(0)} ms, at most ${memory.loopDelayMs?.max.toFixed(0)} ms\n`,
    ].join("\n"),
  );
  stop.abort();
  await Promise.all(running);
} finally {
  stop.abort();
  for (const client of clients) client.close();
  kube.close();
  api.close();
  await server.stop();
}

/** Share of a core. */
async function costOf(
  monitoring: { readonly host: string; readonly port: number },
  forSeconds: number,
): Promise<number> {
  const { cpuSeconds } = await readFigures(monitoring);
  const started = performance.now();
  await pause(forSeconds * 1000);
  const after = await readFigures(monitoring);
  return ((after.cpuSeconds - cpuSeconds) * 1000) / (performance.now() - started);
}

async function makeToken(): Promise<string> {
  const metadata = { name: "reporter", namespace: "default" };
  await kube.create(kubeKinds.serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  const order = { namespace: "default", serviceAccount: metadata.name, audiences: ["istio-ca"] };
  return (await requestToken(kube, order)).token;
}

async function simulate(i: number, token: string): Promise<void> {
  const client = clients[i % clients.length];
  if (!client) return;
  const metadata = { authorization: `Bearer ${token}` };
  const stream = await client.stream(method, { metadata, signal: stop.signal });
  const hello = { address: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, run: "bench" };
  await stream.send(create(FromAgentSchema, { message: { case: "hello", value: hello } }));
  void count(stream.messages);
  for (let sequence = 1; !stop.signal.aborted; sequence++) {
    await pause(sequence === 1 ? Math.random() * reportIntervalMs : reportIntervalMs);
    const message = reportOf(i, sequence);
    sent++;
    bytes += method.request.encode(message).reduce((sum, part) => sum + part.length, 0);
    await stream.send(message).catch(() => {});
  }
}

async function count(messages: ClientStream<unknown, ToAgent>["messages"]): Promise<void> {
  try {
    for await (const _ of messages) acknowledged++;
  } catch {
    // It was stopped.
  }
}

function reportOf(i: number, sequence: number) {
  const own = Array.from({ length: edges }, (_, k) => {
    const name = `workload-${(i * edges + k) % distinct}`;
    return {
      side: Edge_Side.SOURCE,
      peer: { namespace: "shop", workload: `${name}-v1`, app: name, version: "v1" },
      service: { host: `${name}.shop.svc.cluster.local`, name, namespace: "shop" },
      counts: [120, 3, 1, 0, 0, 1, 120, 0, 40, 50, 20, 5, 3, 2],
    };
  });
  return create(FromAgentSchema, { message: { case: "report", value: { sequence, coveredMs: 10_000, edges: own } } });
}

async function readBack({ host, port }: { readonly host: string; readonly port: number }) {
  const started = performance.now();
  const text = await (await fetch(`http://${host}:${port}/debug/trafficz?last=10m`)).text();
  const tookMs = performance.now() - started;
  const { edges: kept, bytes: ringBytes, foldedEdges: folded } = JSON.parse(text);
  return { tookMs, answerBytes: text.length, edges: kept, bytes: ringBytes, folded };
}
