/**
 * Watches over HTTP/2 sessions, all of a server by one clock: keepalive pings for who is silent, floods of pings and of
 * settings; at a server also the first words, headers that are too large and idleness.
 */
import { constants, type Http2Session, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";

export interface KeepaliveLimits {
  /** How long a peer may be silent before it is asked whether it is there. */
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly pingsPerSecond: number;
}

export interface SessionLimits extends KeepaliveLimits {
  /** Until TLS and the first settings of HTTP/2 are through. */
  readonly handshakeMs: number;
  /** Without a request. */
  readonly idleMs: number;
}

/** How long an idle session has to go after it was told to. */
const farewellMs = 5000;

/** How long the last words of one that is cut off may take. */
const flushMs = 1000;

/** Streams that a client may have refused for their headers between two looks. */
const maxRefused = 100;

/** Who has sent so much since the last look is looked at with the clock's next step: about twenty of such headers. */
const manyBytes = 256 * 1024;

/** The clock's step, where limits are so long that it does not matter. */
const usualStepMs = 1000;
const stepsPerLimit = 4;
/** So often within the time that a peer may be silent it is looked whether it is. */
const looksPerSilence = 3;

/** Sessions of clients, which are theirs to end. */
export function watchSessions(limits: KeepaliveLimits): (session: Http2Session) => void {
  const { add } = createWatch({ ...limits, handshakeMs: Number.POSITIVE_INFINITY, idleMs: Number.POSITIVE_INFINITY });
  return (session) => void add(session);
}

/** Sessions of a server, each as it comes. */
export function guardSessions(limits: SessionLimits): (session: ServerHttp2Session) => void {
  const { add } = createWatch(limits);
  return (session) => {
    const watched = add(session);
    session.on("stream", (stream: ServerHttp2Stream) => {
      watched.come++;
      watched.streams++;
      stream.on("close", () => {
        if (--watched.streams === 0) watched.idleSinceMs = performance.now();
      });
    });
  };
}

/** There are thousands of sessions, and most of the time nothing is to be done for them: no timer, few closures. */
interface Watched {
  readonly socket: Socket;
  readonly sinceMs: number;
  /** The session is over, and its socket is still there. */
  overSinceMs: number | undefined;
  /** The client's first settings have come. */
  hasGreeted: boolean;
  /** Streams that are open, and that have come in all. */
  streams: number;
  come: number;
  idleSinceMs: number;
  wasToldToGo: boolean;
  lookedMs: number;
  /** What had been read of it by the last look, and when there was something new. */
  bytes: number;
  heardMs: number;
  pingedMs: number | undefined;
  /** Streams that node had reset by then before it told of them. */
  goneBy: number;
  readonly pings: Count;
  readonly settings: Count;
}

interface Count {
  count: number;
  sinceMs: number;
}

function createWatch(limits: SessionLimits): { add(session: Http2Session): Watched } {
  const sessions = new Map<Http2Session, Watched>();
  const { handshakeMs, idleMs, keepaliveMs, keepaliveTimeoutMs } = limits;
  const stepMs = Math.min(
    usualStepMs,
    ...[handshakeMs, idleMs, keepaliveMs, keepaliveTimeoutMs].map((ms) => Math.max(1, ms / stepsPerLimit)),
  );
  let clock: NodeJS.Timeout | undefined;

  function add(session: Http2Session): Watched {
    const nowMs = performance.now();
    const watched: Watched = {
      socket: socketOf(session),
      sinceMs: nowMs,
      overSinceMs: undefined,
      hasGreeted: false,
      streams: 0,
      come: 0,
      idleSinceMs: nowMs,
      wasToldToGo: false,
      lookedMs: nowMs,
      bytes: bytesRead(session),
      heardMs: nowMs,
      pingedMs: undefined,
      goneBy: 0,
      pings: { count: 0, sinceMs: nowMs },
      settings: { count: 0, sinceMs: nowMs },
    };
    sessions.set(session, watched);
    clock ??= setInterval(look, stepMs).unref();
    session.on("ping", onPing);
    session.on("remoteSettings", onSettings);
    session.on("close", onClose);
    return watched;
  }

  // One of each for all sessions: node says which one it is.
  function onPing(this: Http2Session): void {
    bound(this, sessions.get(this)?.pings);
  }

  function onSettings(this: Http2Session): void {
    const watched = sessions.get(this);
    if (watched) watched.hasGreeted = true;
    bound(this, watched?.settings);
  }

  function onClose(this: Http2Session): void {
    sessions.delete(this);
    if (sessions.size > 0) return;
    clearInterval(clock);
    clock = undefined;
  }

  /** Each wants an answer of ours, and costs its sender nothing. */
  function bound(session: Http2Session, counted: Count | undefined): void {
    if (!counted) return;
    const nowMs = performance.now();
    if (nowMs - counted.sinceMs > 1000) {
      counted.count = 0;
      counted.sinceMs = nowMs;
    }
    if (++counted.count > limits.pingsPerSecond) calm(session);
  }

  function look(): void {
    const nowMs = performance.now();
    for (const [session, watched] of sessions) {
      if (session.destroyed) {
        letGo(session, watched, nowMs);
        continue;
      }
      if (isOverdue(watched, nowMs)) session.destroy();
      else if (nowMs - watched.lookedMs >= keepaliveMs / looksPerSilence) lookAt(session, watched, nowMs);
      // One number of each session: ten thousand take two milliseconds.
      else if (watched.socket.bytesRead - watched.bytes > manyBytes && missingStreams(session, watched) > maxRefused)
        calm(session);
      if (watched.streams > 0 || watched.wasToldToGo || nowMs - watched.idleSinceMs < idleMs) continue;
      // A client that answers pings and asks nothing is told to go; it will come back when it has a question.
      watched.wasToldToGo = true;
      session.close();
    }
  }

  function isOverdue(watched: Watched, nowMs: number): boolean {
    if (!watched.hasGreeted && nowMs - watched.sinceMs >= handshakeMs) return true;
    // An unanswered ping means that the peer is gone without a FIN.
    if (watched.pingedMs !== undefined && nowMs - watched.pingedMs >= keepaliveTimeoutMs) return true;
    return watched.wasToldToGo && watched.streams === 0 && nowMs - watched.idleSinceMs >= idleMs + farewellMs;
  }

  function lookAt(session: Http2Session, watched: Watched, nowMs: number): void {
    watched.lookedMs = nowMs;
    const missing = missingStreams(session, watched);
    if (missing > maxRefused) {
      calm(session);
      return;
    }
    watched.goneBy += missing;
    const bytes = bytesRead(session);
    if (bytes !== watched.bytes) watched.heardMs = nowMs;
    watched.bytes = bytes;
    if (nowMs - watched.heardMs >= keepaliveMs && watched.pingedMs === undefined) ping(session, watched, nowMs);
  }

  return { add };
}

/**
 * Since the last look. Streams whose headers are too large are reset before node tells of them. What tells is that the
 * client's stream numbers run ahead of the streams that have come; a client may leave out some.
 */
function missingStreams(session: Http2Session, { come, goneBy }: Watched): number {
  return ((session.state.lastProcStreamID ?? 0) + 1) / 2 - come - goneBy;
}

/**
 * Node lets the socket of a session that is over go once all is written, and one of a session that was told to go only when
 * its peer goes as well: neither ever comes of a peer that does not read, or that keeps its half open.
 */
function letGo(session: Http2Session, watched: Watched, nowMs: number): void {
  watched.overSinceMs ??= nowMs;
  const patienceMs = session.closed ? farewellMs : flushMs;
  if (nowMs - watched.overSinceMs >= patienceMs) watched.socket.destroy();
}

function ping(session: Http2Session, watched: Watched, nowMs: number): void {
  const isSent = session.ping((error) => {
    watched.pingedMs = undefined;
    if (error && !session.destroyed) session.destroy();
  });
  if (isSent) watched.pingedMs = nowMs;
}

/** What a session shows as its socket destroys the session alone; its methods, though, are those of the socket itself. */
const socketOf = (session: Http2Session): Socket => session.socket.off("close", nothing);
const nothing = (): void => {};

const bytesRead = (session: Http2Session): number => session.socket.bytesRead;

const calm = (session: Http2Session): void => session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
