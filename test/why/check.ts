/**
 * Random rules and requests on real Envoys: what happened, by the answer and the access logs of all proxies on the way,
 * has to be one of the ways that the evaluator found in what these proxies had been sent.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProxyView, type Explanation, explainAll, type Hop, type ProxyView } from "../../src/explain/index.ts";
import { isRecord } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { createTokens } from "../policy/tokens.ts";
import { createRandom } from "../random.ts";
import { service, slice } from "../render/objects.ts";
import { eventually, startTrafficMesh, type TrafficMesh } from "../traffic/mesh.ts";
import type { TrafficProxy } from "../traffic/proxy.ts";
import { type PodAnswer, startPod } from "./pod.ts";
import { type Places, randomTrial, type Trial } from "./request.ts";
import { type Round, randomRound } from "./scenario.ts";

export interface CheckOptions {
  readonly seed: number;
  readonly rounds: number;
  readonly requests: number;
  tell(line: string): void;
}

export interface CheckResult {
  readonly requests: number;
  /** By kind and outcome. */
  readonly counts: ReadonlyMap<string, number>;
  readonly differences: readonly string[];
}

type LogLine = Readonly<Record<string, string>>;

const servedPorts = [
  { name: "http", port: 80, targetPort: 8080 },
  { name: "tcp", port: 90, targetPort: 9090 },
  { name: "any", port: 91, targetPort: 9091 },
  { name: "grpc", port: 70, targetPort: 7070 },
  { name: "tls", port: 443, targetPort: 8443 },
];

const podPorts = { http: 8080, https: 8443, tcp: [9090, 9999], any: 9091, grpc: 7070 };
const vipPorts = { http: 80, https: 443, tcp: [90], any: 91, grpc: 70 };

export async function checkWhy({ seed, rounds, requests, tell }: CheckOptions): Promise<CheckResult> {
  const dir = mkdtempSync(join(tmpdir(), "fl-why-check-"));
  const mesh = await startTrafficMesh();
  const pods: { stop(): void }[] = [];
  try {
    const world = await createWorld(mesh, pods, join(dir, "access.log"));
    const differences: string[] = [];
    const counts = new Map<string, number>();
    for (let round = 0; round < rounds; round++) {
      const random = createRandom(seed + round);
      const chosen = randomRound(random, world.tokens.jwks, world.places, world.logFile);
      await mesh.apply(...chosen.objects);
      for (const proxy of world.proxies) await warmed(proxy);
      const trials = Array.from({ length: requests }, (_, i) =>
        randomTrial(random, `${round}-${i}`, world.places, world.tokens),
      );
      const found = await runTrials(world, trials, (name) => counts.set(name, (counts.get(name) ?? 0) + 1));
      const told = found.map((text) => `seed ${seed + round} (${chosen.words.join(" ")}): ${text}`);
      differences.push(...told);
      for (const text of told) tell(text);
      tell(`round ${round + 1} of ${rounds}: ${requests} requests, ${found.length} differ`);
      await mesh.remove(...removable(chosen));
    }
    return { requests: rounds * requests, counts, differences };
  } finally {
    for (const pod of pods) pod.stop();
    await mesh.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** What Envoy has acknowledged may still wait for something; and on kept connections what was before serves on for a while. */
async function warmed(proxy: TrafficProxy): Promise<void> {
  const waiting = async (): Promise<boolean> => {
    const stats = await proxy.admin("/stats?filter=warming%7Cdraining");
    return /(warming_clusters|total_(listeners|filter_chains)_(warming|draining)): [1-9]/.test(stats);
  };
  await eventually(async () => !(await waiting()), `${proxy.name} to have taken everything`);
}

const removable = ({ objects }: Round): readonly KubeObject[] => objects.filter(({ kind }) => kind !== "ConfigMap");

interface World {
  /** All proxies write to it. */
  readonly logFile: string;
  readonly mesh: TrafficMesh;
  readonly places: Places;
  readonly tokens: Awaited<ReturnType<typeof createTokens>>;
  readonly proxies: readonly TrafficProxy[];
  send(trial: Trial): Promise<PodAnswer>;
}

async function createWorld(mesh: TrafficMesh, pods: { stop(): void }[], logFile: string): Promise<World> {
  const plain = await mesh.backend("plain");
  // Somebody is there too: who is not known by name is passed on to the address.
  const [web, external] = [await mesh.hostAddress(), await mesh.hostAddress()];
  const { cert, key } = await mesh.certificate(...["shop.example.com", "api.example.com"]);
  const secret = { "tls.crt": Buffer.from(cert).toString("base64"), "tls.key": Buffer.from(key).toString("base64") };
  await mesh.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "edge", namespace: "default" },
    type: "kubernetes.io/tls",
    data: secret,
  });
  const client = await mesh.proxy("sidecar", "client");
  const servers = [
    await mesh.proxy("sidecar", "v1", { labels: { app: "web", version: "v1" } }),
    await mesh.proxy("sidecar", "v2", { labels: { app: "web", version: "v2" } }),
  ];
  const edge = await mesh.proxy("router", "edge");
  const ports = servedPorts.map((port) => ({ ...port, protocol: "TCP" }));
  const endpoints = servers.map(({ address, name }) => ({ address, pod: name }));
  const all = {
    ...slice("web", endpoints),
    ports: servedPorts.map(({ name, targetPort: port }) => ({ name, port, protocol: "TCP" })),
  };
  const headless = { ...slice("headless", endpoints), ports: [{ name: "http", port: 8080, protocol: "TCP" }] };
  await mesh.apply(
    service("web", { spec: { clusterIP: web, ports } }),
    all,
    service("headless", {
      selector: "web",
      spec: { clusterIP: "None", ports: [{ name: "http", port: 8080, targetPort: 8080, protocol: "TCP" }] },
    }),
    headless,
  );
  const inPods = new Map([client, ...servers].map((proxy) => [proxy.name, startPod(proxy.network)]));
  const outside = startPod(undefined);
  pods.push(outside, ...inPods.values());
  for (const server of servers)
    await inPods
      .get(server.name)
      ?.ask({ kind: "serve", name: server.name, address: "0.0.0.0", cert, key, ports: podPorts });
  for (const address of [web, external])
    await outside.ask({ kind: "serve", name: "vip", address, cert, key, ports: vipPorts });
  const own = plain.address.split(".").slice(0, 2).join(".");
  return {
    mesh,
    logFile,
    proxies: [client, ...servers, edge],
    tokens: await createTokens(),
    places: {
      client: client.address,
      edge: edge.address,
      outside: `${own}.0.1`,
      services: { web },
      servers: servers.map(({ address }) => address),
      external,
      plain: plain.address,
    },
    send: (trial) => (trial.at === "client" ? (inPods.get("client") ?? outside) : outside).ask(trial.order),
  };
}

const atOnce = 25;

async function runTrials(
  world: World,
  trials: readonly Trial[],
  count: (name: string) => void,
): Promise<readonly string[]> {
  const views = new Map(world.proxies.map((proxy) => [proxy.address, viewOf(world, proxy)]));
  const mark = readLog(world.logFile).length;
  const answers = new Map<Trial, PodAnswer>();
  for (let i = 0; i < trials.length; i += atOnce)
    await Promise.all(trials.slice(i, i + atOnce).map(async (trial) => answers.set(trial, await world.send(trial))));
  const jwt = { now: new Date(), unknownKeys: "" };
  const expected = new Map(
    trials.map((trial) => {
      const first = views.get(
        trial.at === "client" ? world.places.client : trial.at === "edge" ? world.places.edge : trial.server,
      );
      if (!first) throw new Error(`no proxy for ${trial.at}`);
      return [
        trial,
        explainAll(
          { proxyAt: (address) => views.get(address), jwt },
          { proxy: first, side: trial.side, connection: trial.connection },
        ),
      ] as const;
    }),
  );
  let lines: readonly LogLine[] = [];
  const logs = (name: string): readonly LogLine[] => lines.filter(({ pod }) => pod === name);
  const judgeOne = (trial: Trial): readonly string[] =>
    compare(trial, answers.get(trial), expected.get(trial) ?? [], logs);
  const judge = (): readonly string[] => trials.flatMap(judgeOne);
  // Envoys write their logs once a second.
  const logged = (): Promise<void> =>
    eventually(
      () => {
        lines = readLog(world.logFile).slice(mark).flatMap(readLine);
        return judge().length === 0;
      },
      "logs",
      5_000,
    ).catch(() => {});
  await logged();
  const unlogged = trials.filter((trial) => judgeOne(trial).some((text) => text.includes("no line in the log")));
  for (const trial of unlogged) answers.set(trial, await world.send(trial));
  if (unlogged.length > 0) await logged();
  for (const trial of trials)
    count(
      `${trial.at} ${trial.order.kind}${"sni" in trial.order ? " over TLS" : ""}: ${summary(expected.get(trial)?.[0])}`,
    );
  return judge();
}

function summary(way: Explanation | undefined): string {
  const outcome = way?.outcome;
  if (!outcome) return "nothing";
  if (outcome.kind === "reached") return "reached";
  return outcome.kind === "closed"
    ? `closed ${outcome.flags.join()}`
    : `${outcome.status}${outcome.grpcStatus === undefined ? "" : ` gRPC ${outcome.grpcStatus}`} ${outcome.flags.join()} ${outcome.details.replace(/[[{].*/, "")}`;
}

function viewOf({ mesh }: World, proxy: TrafficProxy): ProxyView {
  const renderer = mesh.controlPlane.rendererOf(proxy.nodeId);
  if (!renderer) throw new Error(`${proxy.name} is not connected`);
  const kind = proxy.name === "edge" ? ("gateway" as const) : ("sidecar" as const);
  const identity = `spiffe://cluster.local/ns/default/sa/${proxy.name}`;
  return createProxyView({ name: `${proxy.name}.default`, kind, addresses: [proxy.address], identity }, renderer);
}

const readLog = (file: string): readonly string[] =>
  existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];

function readLine(line: string): readonly LogLine[] {
  if (!line.startsWith("{")) return [];
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value)
      ? [
          Object.fromEntries(
            Object.entries(value).map(([name, field]) => [
              name,
              field === null || field === undefined || field === "-" ? "" : String(field),
            ]),
          ),
        ]
      : [];
  } catch {
    return [];
  }
}

/** Whether a close is noticed as a reset depends on what was under way. */
const flagsOf = ({ flags = "" }: LogLine): string =>
  flags
    .split(",")
    .filter((flag) => flag !== "UR")
    .sort()
    .join();

/** Empty where one of the ways is what happened. */
function compare(
  trial: Trial,
  answer: PodAnswer | undefined,
  ways: readonly Explanation[],
  logs: (name: string) => readonly LogLine[],
): readonly string[] {
  const tried = ways.map((way) => mismatch(trial, answer, way, logs));
  if (tried.includes(undefined)) return [];
  const known = ["client", "v1", "v2", "edge"].flatMap(logs).filter(({ why }) => why === trial.id);
  const shown = { at: trial.at, ...trial.order };
  return [
    `${JSON.stringify(shown).replace(/(Bearer .{0,4})[^"]*/, "$1")} got ${JSON.stringify({ ...answer, headers: undefined })}: ${[...new Set(tried)].slice(0, 6).join(" | ")} ${JSON.stringify(known)}`,
  ];
}

const isRefusedTcp = ({ status, details }: Hop): boolean => status === 0 && details.startsWith("rbac_access_denied");

const unlogged: ReadonlySet<string> = new Set(["filter_chain_not_found", "tls_handshake_failed", "codec_error"]);

function mismatch(
  trial: Trial,
  answer: PodAnswer | undefined,
  { outcome, hops }: Explanation,
  logs: (name: string) => readonly LogLine[],
): string | undefined {
  if (answer?.kind === "http") {
    const status = outcome.kind === "reached" ? 200 : outcome.kind === "answered" ? outcome.status : 0;
    if (answer.status !== status) return `status ${status} expected (${JSON.stringify(outcome)})`;
    const grpc = outcome.kind === "answered" ? outcome.grpcStatus : undefined;
    if (grpc !== undefined && answer.headers["grpc-status"] !== String(grpc))
      return `gRPC status ${grpc} expected, ${answer.headers["grpc-status"]} found`;
    const { location } = outcome.kind === "answered" ? outcome : {};
    if (location !== undefined && answer.headers.location !== location)
      return `location ${location} expected, ${answer.headers.location} found`;
  }
  if (answer?.kind === "tcp" && (outcome.kind === "reached") !== (answer.received !== ""))
    return `${outcome.kind} expected, ${JSON.stringify(outcome)}`;
  let from = `${answer && "localPort" in answer ? answer.localPort : 0}`;
  for (const hop of hops) {
    const lines = logs(hop.proxy.replace(/\.default$/, ""));
    // Requests carry a name of their own; what is only bytes is known by its port.
    const line =
      lines.find(({ why }) => why === trial.id) ??
      lines.find(({ why = "", from: peer = "" }) => why === "" && peer.endsWith(`:${from}`));
    // What ends before any filter is reached leaves no line.
    if (!line && (outcome.kind === "closed" || hops[0]?.flags.includes("UF") || unlogged.has(hop.details))) continue;
    if (!line) return `no line in the log of ${hop.proxy}`;
    const wanted = {
      route: hop.route,
      cluster: hop.cluster,
      // Where a policy closes a connection, Envoy may have found out before that the endpoint does not take it.
      ...(isRefusedTcp(hop) ? {} : { flags: [...hop.flags].sort().join() }),
      ...(hop.endpoint === "" || hop.cluster.startsWith("inbound") || outcome.kind !== "reached"
        ? {}
        : { endpoint: hop.endpoint }),
    };
    const got = {
      route: line.route ?? "",
      cluster: line.cluster ?? "",
      flags: flagsOf(line),
      endpoint: line.endpoint ?? "",
    };
    for (const [name, value] of Object.entries(wanted)) {
      const found = got[name as keyof typeof got];
      if (found !== value)
        return `${hop.proxy} ${name} ${value || "none"} expected, ${found || "none"} found (${line.code} ${line.details} ${line.ended})`;
    }
    from = (line.through ?? "").split(":").at(-1) ?? "";
  }
  return undefined;
}
