/**
 * A Pod that this process runs in; its logs, commands, ports and what it uses, for the API and through it for kubectl, out: what a kubelet serves. The
 * socket is named after the Pod's uid and open to its owner alone; who may use it has been asked by the API.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type Logger, listenOn, openSocketFolder, serverOptions, webLimits } from "../../lib/index.ts";
import type { ContainerLog } from "../log/container-log.ts";
import { attach } from "./attach.ts";
import { channelProtocol, portsIn, serveChannelForward } from "./channel-forward.ts";
import { type CommandStreams, commandOffer, openCommandStreams, type Wanted } from "./command-streams.ts";
import { removeDeadSockets } from "./dead-sockets.ts";
import { runCommand, type Spawn } from "./exec.ts";
import { logOptions, writeLog } from "./log.ts";
import { type Connect, servePortForward } from "./port-forward.ts";
import { acceptUpgrade, type Offer, refuseUpgrade } from "./upgrade.ts";
import { type ContainerProcesses, createUsage, type PodUsage } from "./usage.ts";

export interface HostedPod {
  readonly uid: string;
  readonly name: string;
  readonly connect: Connect;
  /** Undefined for a container that has not been started; `none` where there is no process that could write. */
  log(container: string): ContainerLog | "none" | undefined;
  /** Undefined where no command can be run beside the container's process. */
  spawner(container: string): Spawn | undefined;
  /** Ids of the processes of each container that runs. */
  readonly processes: ContainerProcesses;
}

export interface PodServer {
  close(): Promise<void>;
}

const maxConnections = 1024;

/** kubectl 1.30 and later tunnel the older protocol; other clients have channels, one pair for each port that they name. */
const portForwardOffer: Offer = {
  webSocket: ["SPDY/3.1+portforward.k8s.io", channelProtocol],
  spdy: ["portforward.k8s.io"],
};

export async function servePod(dir: string, pod: HostedPod, log: Logger): Promise<PodServer> {
  const folder = openSocketFolder(dir);
  await removeDeadSockets(folder, dir);
  const usage = createUsage(pod.processes);
  const server = createServer(serverOptions(webLimits), (request, response) => {
    answer(pod, usage, request, response).catch((error: unknown) => {
      log.warn(`a request for Pod ${pod.name}: ${String(error)}`);
      response.destroy();
    });
  });
  server.maxConnections = maxConnections;
  const open = new Set<Duplex>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("error", () => {}).once("close", () => open.delete(socket));
  });
  server.on("upgrade", (request, socket, head) => {
    upgrade(pod, request, socket, head).catch((error: unknown) => {
      log.warn(`a stream of Pod ${pod.name}: ${String(error)}`);
      socket.destroy();
    });
  });
  await listenOn(server, { path: folder.path(`${pod.uid}.sock`) }, "");
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          folder.close();
          resolve();
        });
        for (const socket of open) socket.destroy();
      }),
  };
}

async function answer(
  pod: HostedPod,
  usage: () => Promise<PodUsage>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://pod");
  if (pathname === "/usage")
    return void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(await usage()));
  if (pathname !== "/log") return void response.writeHead(404).end("not found");
  const refuse = (why: string): void => void response.writeHead(400).end(why);
  const name = searchParams.get("container") ?? "";
  const log = pod.log(name);
  const which = `container ${JSON.stringify(name)} in pod ${JSON.stringify(pod.name)}`;
  if (log === "none") return void response.writeHead(200).end();
  const isPrevious = searchParams.has("previous");
  const life = isPrevious ? log?.previous() : log?.current();
  if (isPrevious && !life) return refuse(`previous terminated ${which} not found`);
  if (!log || !life) return refuse(`${which} is waiting to start: PodInitializing`);
  response.writeHead(200, { "content-type": "text/plain" }).flushHeaders();
  await writeLog(log, life, logOptions(searchParams, new Date()), response);
  response.end();
}

async function upgrade(pod: HostedPod, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://pod");
  if (pathname === "/portforward") {
    const accepted = acceptUpgrade(request, socket, head, portForwardOffer);
    if (!accepted) return;
    if (accepted.protocol !== channelProtocol) return await servePortForward(accepted.transport, pod.connect);
    const ports = portsIn(searchParams);
    if (ports) await serveChannelForward(accepted.transport, ports, pod.connect);
    else accepted.transport.close();
    return;
  }
  const name = searchParams.get("container") ?? "";
  const run =
    pathname === "/exec"
      ? commandOf(pod, name, searchParams)
      : pathname === "/attach"
        ? attachTo(pod, name)
        : undefined;
  if (!run) return refuseUpgrade(socket, 404, `container not found (${JSON.stringify(name)})`);
  const accepted = acceptUpgrade(request, socket, head, commandOffer);
  const wanted = wantedStreams(searchParams);
  const streams = accepted && (await openCommandStreams(accepted, wanted));
  if (streams) await run(streams, wanted);
}

type Run = (streams: CommandStreams, wanted: Wanted) => Promise<void>;

function commandOf(pod: HostedPod, container: string, query: URLSearchParams): Run | undefined {
  const spawn = pod.spawner(container);
  return spawn && ((streams, wanted) => runCommand(spawn, query.getAll("command"), streams, wanted));
}

function attachTo(pod: HostedPod, container: string): Run | undefined {
  const log = pod.log(container);
  const life = log === "none" ? undefined : log?.current();
  if (!log || log === "none" || !life) return undefined;
  return (streams) => attach(log, life, streams);
}

function wantedStreams(query: URLSearchParams): Wanted {
  const [stdin, stdout, stderr, tty] = ["stdin", "stdout", "stderr", "tty"].map((name) => query.has(name));
  return { stdin: stdin === true, stdout: stdout === true, stderr: stderr === true, tty: tty === true };
}
