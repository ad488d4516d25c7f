/** A Pod's name in; a real Envoy in a namespace of its own out, with the agent's bootstrap, its capture rules and a certificate. */
import { mkdirSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createSdsRoutes } from "../../src/agent/identity/sds.ts";
import type { SecretSource } from "../../src/agent/identity/secrets.ts";
import { applyCapture, createRunCommand, defaultCapture } from "../../src/agent/index.ts";
import { silentLogger, wait } from "../../src/lib/index.ts";
import type { KubeObject, ProxyType } from "../../src/model/index.ts";
import { createRpcServer, type Route, type RpcServer } from "../../src/rpc/index.ts";
import { startProcess } from "../../src/standalone/index.ts";
import type { PodNetwork } from "../../src/standalone/network/pod-network.ts";
import { agentBootstrap } from "../agent-bootstrap.ts";
import { findEnvoy } from "../require.ts";
import { workerTurns } from "../worker-turns.ts";
import { type Caller, startCaller } from "./caller.ts";
import type { TrafficNetwork } from "./network.ts";

export interface TrafficProxy {
  readonly name: string;
  readonly nodeId: string;
  readonly address: string;
  /** Sends requests from inside the Pod: captured, where it is a sidecar. */
  readonly caller: Caller;
  /** Path of its network namespace. */
  readonly network: string;
  admin(path: string, method?: string): Promise<string>;
  /** Serves xDS with these routes from now on; none: the control plane is gone. */
  connect(routes: readonly Route[] | undefined): Promise<void>;
  alive(): boolean;
  /** Turns that the loops of its workers have made so far. */
  turns(): Promise<number>;
  /** Envoy gets no processor until it is resumed. */
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

export interface ProxyOptions {
  readonly dir: string;
  readonly network: TrafficNetwork;
  readonly type: ProxyType;
  readonly pod: KubeObject;
  readonly pods: PodNetwork & { readonly address: string };
  readonly routes: readonly Route[];
  readonly secrets: SecretSource;
  /** State of the world instead of delta. */
  readonly sotw: boolean;
}

/** Envoy's group, exempt from capture; Istio's number. */
const proxyGroup = "1337";
const capture = { ...defaultCapture, proxyUid: proxyGroup, proxyGid: proxyGroup, inboundInterceptionMode: "REDIRECT" };
const ownPorts = "15090,15021,15020";

export async function startProxy(options: ProxyOptions): Promise<TrafficProxy> {
  const { pod, pods, type } = options;
  const dir = join(options.dir, pod.metadata.name);
  mkdirSync(dir, { recursive: true });
  if (type === "sidecar")
    await applyCapture(
      { ...capture, outboundIpRangesInclude: "*", inboundPortsInclude: "*", inboundPortsExclude: ownPorts },
      { run: createRunCommand(pods.path), log: () => {} },
    );
  const { name, namespace = "default", labels = {} } = pod.metadata;
  const bootstrap = agentBootstrap({ dir, type, name, namespace, labels, address: pods.address, sotw: options.sotw });
  const sds = await serve(join(dir, "sds"), createSdsRoutes(options.secrets, silentLogger));
  let xds: RpcServer | undefined = await serve(join(dir, "xds"), options.routes);
  const file = join(dir, "bootstrap.json");
  writeFileSync(file, JSON.stringify({ ...bootstrap.config, enableDispatcherStats: true, statsFlushInterval: "0.5s" }));
  const said: string[] = [];
  let ended: number | string | undefined;
  const envoy = startProcess({
    file: "nsenter",
    args: [
      `--net=${pods.path}`,
      "--",
      ...["setpriv", `--regid=${proxyGroup}`, "--clear-groups", "--"],
      findEnvoy() ?? "envoy",
      ...["-c", file, "--use-dynamic-base-id", "--concurrency", "1", "-l", "error"],
      ...["--drain-time-s", "1", "--parent-shutdown-time-s", "2", "--file-flush-interval-msec", "1000"],
    ],
    // By its name, access logs tell the proxies apart that write to one file.
    env: { PATH: process.env.PATH ?? "/usr/bin", POD_NAME: name },
    output: (line) => said.push(line),
    journal: options.network.journal,
  });
  void envoy.exited.then((status) => {
    ended = status;
  });
  const admin = (path: string, method = "GET"): Promise<string> => ask(join(dir, "admin"), path, method);
  const caller = startCaller(pods.path);
  await untilReady(admin, () => ended, said);
  return {
    name,
    nodeId: bootstrap.nodeId,
    address: pods.address,
    caller,
    network: pods.path,
    admin,
    async connect(routes) {
      await xds?.close();
      xds = routes && (await serve(join(dir, "xds"), routes));
    },
    alive: () => ended === undefined,
    turns: async () => workerTurns(await admin("/stats/prometheus")),
    pause: () => process.kill(envoy.pid, "SIGSTOP"),
    resume: () => process.kill(envoy.pid, "SIGCONT"),
    async close() {
      caller.stop();
      await envoy.stop(500);
      await Promise.all([xds?.close(), sds.close()]);
    },
  };
}

async function serve(path: string, routes: readonly Route[]): Promise<RpcServer> {
  const server = createRpcServer({ routes, limits: { maxMessageBytes: 64 * 1024 * 1024 }, log: silentLogger });
  await server.listen({ path });
  return server;
}

async function untilReady(
  admin: (path: string) => Promise<string>,
  ended: () => number | string | undefined,
  said: readonly string[],
): Promise<void> {
  const deadline = Date.now() + 180_000;
  while (Date.now() < deadline) {
    if (ended() !== undefined) throw new Error(`envoy ended with ${ended()}: ${said.slice(-5).join("\n")}`);
    if ((await admin("/ready").catch(() => "")).includes("LIVE")) return;
    await wait(20);
  }
  throw new Error(`envoy is not ready: ${said.slice(-5).join("\n")}`);
}

function ask(socketPath: string, path: string, method: string): Promise<string> {
  return new Promise((resolve, reject) => {
    http
      .request({ socketPath, path, method, agent: false, headers: { host: "admin" } }, (response) => {
        text(response).then(resolve, reject);
      })
      .on("error", reject)
      .end();
  });
}
