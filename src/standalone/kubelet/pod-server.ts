/**
 * A Pod that this process runs in; its ports, for the API and through it for kubectl, out: what a kubelet serves. The
 * socket is named after the Pod's uid and open to its owner alone; who may use it has been asked by the API.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type Logger, listenOn, openSocketFolder, serverOptions, webLimits } from "../../lib/index.ts";
import { removeDeadSockets } from "./dead-sockets.ts";
import { type Connect, servePortForward } from "./port-forward.ts";
import { acceptUpgrade, type Offer, refuseUpgrade } from "./upgrade.ts";

export interface HostedPod {
  readonly uid: string;
  readonly connect: Connect;
}

export interface PodServer {
  close(): Promise<void>;
}

const maxConnections = 1024;

/** kubectl 1.30 and later tunnel the older protocol. */
const portForwardOffer: Offer = { webSocket: ["SPDY/3.1+portforward.k8s.io"], spdy: ["portforward.k8s.io"] };

export async function servePod(dir: string, pod: HostedPod, log: Logger): Promise<PodServer> {
  const folder = openSocketFolder(dir);
  await removeDeadSockets(folder, dir);
  const server = createServer(serverOptions(webLimits), (_request, response) => {
    response.writeHead(404).end();
  });
  server.maxConnections = maxConnections;
  const open = new Set<Duplex>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("error", () => {}).once("close", () => open.delete(socket));
  });
  server.on("upgrade", (request, socket, head) => {
    upgrade(pod, request, socket, head).catch((error: unknown) => {
      log.warn(`a stream of Pod ${pod.uid}: ${String(error)}`);
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

async function upgrade(pod: HostedPod, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://pod");
  if (pathname !== "/portforward") return refuseUpgrade(socket, 404, "not found");
  const accepted = acceptUpgrade(request, socket, head, portForwardOffer);
  if (accepted) await servePortForward(accepted.transport, pod.connect);
}
