/** The connections of a server: counted, and sent away in good order. */
import { constants, type ServerHttp2Session } from "node:http2";
import { guardConnections, type Logger, type Overload, systemCode } from "../lib/index.ts";
import type { WireCall } from "./call.ts";
import type { Limits } from "./limits.ts";
import { type Peer, peerOf } from "./peer.ts";
import { RpcError, status } from "./status.ts";
import type { Transport } from "./transport.ts";

export interface Session {
  readonly peer: Peer;
  readonly calls: Set<WireCall>;
  /** There is no room for it: its calls are told so. */
  readonly isRefused: boolean;
}

export interface Sessions {
  get(session: object | undefined): Session | undefined;
  load(): { readonly connections: number; readonly calls: number };
  /** Ends all, spread over the time; resolves when the last has gone. */
  close(graceMs: number): Promise<void>;
}

/** How long a client has to take the end of its calls. */
const farewellMs = 1000;

/** What a timer can hold, 24 days: a connection that is older than that may as well be made anew. */
const maxTimerMs = 2 ** 31 - 1;

export function createSessions(
  server: Transport,
  options: {
    readonly limits: Limits;
    readonly random: () => number;
    readonly log: Logger;
    readonly overload: Overload | undefined;
    readonly onRefused: (reason: string) => void;
  },
): Sessions {
  const { limits, random } = options;
  const open = new Map<object, Session & { readonly session: ServerHttp2Session }>();
  const connections = guardConnections(server, limits, options.overload);

  server.on("session", (session: ServerHttp2Session) => {
    session.on("error", (error) => {
      options.log.debug("session ended", { cause: error.message });
      refused(error);
    });
    const isRefused = connections.isRefused(session.socket);
    const peer = peerOf(session.socket);
    open.set(session, { session, peer, calls: new Set(), isRefused });
    const aging = limits.maxAgeMs === undefined ? undefined : age(session, limits.maxAgeMs);
    const expiring = expire(session, peer);
    session.once("close", () => {
      open.delete(session);
      clearTimeout(aging);
      clearTimeout(expiring);
    });
  });

  server.on("tlsClientError", refused);

  /** Who only goes away, in the middle of a handshake too, has broken no rule. */
  function refused(error: Error): void {
    if (/^ERR_(HTTP2|SSL)_/.test(systemCode(error) ?? "")) options.onRefused("BadConnection");
  }

  /** Whom a certificate has let in comes back with the next one, on a connection of its own: this one showed the old. */
  function expire(session: ServerHttp2Session, { tls }: Peer): NodeJS.Timeout | undefined {
    if (!tls?.verified || !tls.certificate) return undefined;
    const restMs = tls.certificate.validToDate.getTime() - Date.now();
    const onExpired = (): void => retire(session, "the client's certificate has expired", 0);
    return setTimeout(onExpired, Math.min(Math.max(restMs, 0), maxTimerMs)).unref();
  }

  /** Spread, so that many clients do not come back at once. */
  function age(session: ServerHttp2Session, maxAgeMs: number): NodeJS.Timeout {
    const onAged = (): void => retire(session, "maximum connection age", limits.maxAgeGraceMs);
    return setTimeout(onAged, maxAgeMs * (0.9 + 0.2 * random())).unref();
  }

  function retire(session: ServerHttp2Session, why: string, graceMs: number): void {
    if (session.destroyed) return;
    session.goaway(constants.NGHTTP2_NO_ERROR);
    session.close();
    const end = setTimeout(() => {
      for (const call of open.get(session)?.calls ?? []) {
        call.finish(status.unavailable, why);
        call.abort(new RpcError(status.unavailable, why));
      }
      const destroy = setTimeout(() => session.destroy(), farewellMs);
      session.once("close", () => clearTimeout(destroy));
    }, graceMs);
    session.once("close", () => clearTimeout(end));
  }

  return {
    get: (session) => session && open.get(session),
    load: () => ({ connections: open.size, calls: open.values().reduce((sum, { calls }) => sum + calls.size, 0) }),
    async close(graceMs) {
      const gone = [...open.values()].map(({ session }) => {
        const closed = new Promise<void>((resolve) => session.once("close", () => resolve()));
        retire(session, "the server is shutting down", graceMs * random());
        return closed;
      });
      await Promise.all(gone);
      // What is left has never become a session, such as a handshake that does not end.
      connections.destroyAll();
    },
  };
}
