/** Watches over one HTTP/2 session: keepalive pings, floods of pings and of settings; at a server also the first words, headers that are too large and idleness. */
import { constants, type Http2Session, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";

export interface SessionLimits {
  /** Until TLS and the first settings of HTTP/2 are through. */
  readonly handshakeMs: number;
  /** Without a request. */
  readonly idleMs: number;
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly pingsPerSecond: number;
}

/** How long an idle session has to go after it was told to. */
const farewellMs = 5000;

/** Streams that a client may have refused for their headers between two looks. */
const maxRefused = 100;

export function guardServerSession(session: ServerHttp2Session, limits: SessionLimits): void {
  keepAlive(session, limits);
  const greeting = setTimeout(() => session.destroy(), limits.handshakeMs).unref();
  session.once("remoteSettings", () => clearTimeout(greeting));
  session.once("close", () => clearTimeout(greeting));
  limitIdleness(session, limits.idleMs);
  limitRefused(session, limits.keepaliveMs);
}

/** For either side. */
export function keepAlive(
  session: Http2Session,
  limits: Pick<SessionLimits, "keepaliveMs" | "keepaliveTimeoutMs" | "pingsPerSecond">,
): void {
  const pinging = setInterval(() => ping(session, limits.keepaliveTimeoutMs), limits.keepaliveMs).unref();
  session.once("close", () => clearInterval(pinging));
  limitEvents(session, "ping", limits.pingsPerSecond);
  limitEvents(session, "remoteSettings", limits.pingsPerSecond);
}

/** An unanswered ping means that the peer is gone without a FIN. */
function ping(session: Http2Session, timeoutMs: number): void {
  if (session.destroyed) return;
  const timer = setTimeout(() => session.destroy(), timeoutMs);
  timer.unref();
  const sent = session.ping((error) => {
    clearTimeout(timer);
    if (error && !session.destroyed) session.destroy();
  });
  if (!sent) clearTimeout(timer);
}

/** Each wants an answer of ours, and costs its sender nothing. */
function limitEvents(session: Http2Session, event: "ping" | "remoteSettings", perSecond: number): void {
  let count = 0;
  let since = performance.now();
  session.on(event, () => {
    const now = performance.now();
    if (now - since > 1000) {
      count = 0;
      since = now;
    }
    if (++count > perSecond) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
}

/**
 * Streams whose headers are too large are reset before node tells of them. What tells is that the client's stream numbers
 * run ahead of the streams that have come; a client may leave out some.
 */
function limitRefused(session: ServerHttp2Session, everyMs: number): void {
  let [come, goneBy] = [0, 0];
  session.on("stream", () => void come++);
  const look = setInterval(() => {
    if (session.destroyed) return;
    const missing = ((session.state.lastProcStreamID ?? 0) + 1) / 2 - come;
    if (missing - goneBy > maxRefused) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    goneBy = missing;
  }, everyMs).unref();
  session.once("close", () => clearInterval(look));
}

/** A client that answers pings and asks nothing is told to go; it will come back when it has a question. */
function limitIdleness(session: ServerHttp2Session, idleMs: number): void {
  let streams = 0;
  let timer: NodeJS.Timeout | undefined;
  const start = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      session.close();
      timer = setTimeout(() => session.destroy(), farewellMs).unref();
    }, idleMs).unref();
  };
  start();
  session.on("stream", (stream: ServerHttp2Stream) => {
    streams++;
    clearTimeout(timer);
    stream.once("close", () => {
      if (--streams === 0 && !session.destroyed) start();
    });
  });
  session.once("close", () => clearTimeout(timer));
}
