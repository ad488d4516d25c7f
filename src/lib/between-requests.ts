/**
 * Connections of an HTTP/1 server whose last request was answered in; those on which bytes come, but no request, are closed.
 * Node's own bounds begin with a request's first line, and blank lines before it are none: they kept a connection for ever.
 */
import type { Socket } from "node:net";

export interface BetweenRequests {
  /** Its last request was answered. */
  rests(socket: Socket): void;
  /** A request has come, or it has become something else than HTTP. */
  goesOn(socket: Socket): void;
}

interface Resting {
  /** What had been read of it by the answer. */
  readonly bytes: number;
  /** When more than that was first seen. */
  heardMs: number | undefined;
}

/** A blank line after a body is what some clients send, be it in a record of TLS. */
const strayBytes = 64;

/** How often it is looked, at most. */
const usualStepMs = 1000;

/** `headersMs` is the time for a request's headers, from their first byte on. */
export function watchBetweenRequests(headersMs: number): BetweenRequests {
  const resting = new Map<Socket, Resting>();
  const known = new WeakSet<Socket>();
  let clock: NodeJS.Timeout | undefined;

  function look(): void {
    const nowMs = performance.now();
    for (const [socket, rest] of resting) {
      if (socket.bytesRead - rest.bytes <= strayBytes) continue;
      rest.heardMs ??= nowMs;
      if (nowMs - rest.heardMs >= headersMs) socket.destroy();
    }
  }

  function goesOn(socket: Socket): void {
    if (!resting.delete(socket) || resting.size > 0) return;
    clearInterval(clock);
    clock = undefined;
  }

  return {
    rests(socket) {
      if (socket.destroyed) return;
      if (!known.has(socket)) socket.once("close", () => goesOn(socket));
      known.add(socket);
      resting.set(socket, { bytes: socket.bytesRead, heardMs: undefined });
      clock ??= setInterval(look, Math.min(usualStepMs, headersMs)).unref();
    },
    goesOn,
  };
}
