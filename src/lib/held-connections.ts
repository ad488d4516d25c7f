/** The connections of one server in; which of them nobody uses, and which are there only to be refused, out. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Server, Socket } from "node:net";

/** Of a connection in clear and of the one inside TLS alike. */
export type Peer = Pick<Socket, "remoteAddress" | "remotePort">;

export interface HeldConnections {
  add(socket: Socket): void;
  count(): number;
  destroyAll(): void;
  /** Whether what comes over a connection are requests, which have answers. */
  canAnswer(): boolean;
  /** Ends the oldest that are not in use, so many at most; false where all are in use. */
  closeIdle(most: number): boolean;
  markRefused(socket: Socket): void;
  isRefused(peer: Peer | undefined): boolean;
}

interface Held {
  readonly socket: Socket;
  requests: number;
  idleSinceMs: number;
  wasUsed: boolean;
  session?: ServerHttp2Session;
}

/** So long a new one has to say what it wants, and one that has asked before may be silent. */
const [newPatienceMs, usedPatienceMs] = [1_000, 10_000];

const keyOf = (peer: Peer): string => `${peer.remoteAddress}|${peer.remotePort}`;

export function createHeldConnections(server: Server): HeldConnections {
  const open = new Map<Socket, Held>();
  const byPeer = new Map<string, Held>();
  const refused = new Set<string>();

  const use = (peer: Peer | undefined, end: (done: () => void) => void): void => {
    const held = peer && byPeer.get(keyOf(peer));
    if (!held) return;
    held.requests++;
    end(() => {
      held.requests--;
      held.wasUsed = true;
      held.idleSinceMs = performance.now();
    });
  };
  // Not on a server that takes streams as they are: a listener would make requests of them.
  const takesRequests = server.listenerCount("request") > 0;
  if (takesRequests)
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      if (request.httpVersionMajor === 1) use(request.socket, (done) => response.once("close", done));
    });
  // Likewise: a listener would take requests for another protocol away from who serves none.
  if (server.listenerCount("upgrade") > 0)
    server.on("upgrade", (_request: IncomingMessage, socket: Socket) =>
      use(socket, (done) => socket.once("close", done)),
    );
  server.on("session", (session: ServerHttp2Session) => {
    const held = byPeer.get(keyOf(session.socket));
    if (held) held.session = session;
  });
  server.on("stream", (stream: ServerHttp2Stream) => use(stream.session?.socket, (done) => stream.once("close", done)));

  /** One listener for streams is the one above. */
  const canAnswer = (): boolean => takesRequests || server.listenerCount("stream") > 1;

  return {
    add(socket) {
      const key = keyOf(socket);
      const held: Held = { socket, requests: 0, idleSinceMs: performance.now(), wasUsed: false };
      open.set(socket, held);
      if (socket.remotePort !== undefined) byPeer.set(key, held);
      socket.once("close", () => {
        open.delete(socket);
        if (byPeer.get(key) === held) byPeer.delete(key);
        refused.delete(key);
      });
    },
    count: () => open.size,
    destroyAll() {
      for (const socket of open.keys()) socket.destroy();
    },
    canAnswer,
    closeIdle(most) {
      if (!canAnswer()) return false;
      const now = performance.now();
      const idle = open
        .values()
        .filter(
          ({ requests, idleSinceMs, wasUsed }) =>
            requests === 0 && idleSinceMs < now - (wasUsed ? usedPatienceMs : newPatienceMs),
        )
        .take(most)
        .toArray();
      for (const held of idle) {
        // It has been told; it is not told again while it goes.
        held.idleSinceMs = Number.POSITIVE_INFINITY;
        if (held.session) held.session.close();
        else held.socket.destroy();
      }
      return idle.length > 0;
    },
    markRefused: (socket) => void refused.add(keyOf(socket)),
    isRefused: (peer) => peer !== undefined && refused.size > 0 && refused.has(keyOf(peer)),
  };
}
