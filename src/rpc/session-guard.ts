/** Watches over one HTTP/2 session: keepalive pings, flood of pings, maximum age. Ends the session, or asks for its drain. */
import type { Http2Session } from "node:http2";
import { constants } from "node:http2";
import type { Limits } from "./limits.ts";

export interface GuardOptions {
  readonly limits: Pick<Limits, "keepaliveMs" | "keepaliveTimeoutMs" | "pingsPerSecond" | "maxAgeMs">;
  /** 0 to 1: spreads the ages so that many clients do not come back at once. */
  readonly random: () => number;
  readonly onAged: () => void;
}

export function guardSession(session: Http2Session, options: GuardOptions): void {
  const { limits } = options;
  const timers: NodeJS.Timeout[] = [];
  timers.push(setInterval(() => ping(session, limits.keepaliveTimeoutMs), limits.keepaliveMs));
  if (limits.maxAgeMs !== undefined)
    timers.push(setTimeout(options.onAged, limits.maxAgeMs * (0.9 + 0.2 * options.random())));
  for (const timer of timers) timer.unref();
  session.once("close", () => {
    for (const timer of timers) clearTimeout(timer);
  });
  limitPings(session, limits.pingsPerSecond);
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

function limitPings(session: Http2Session, perSecond: number): void {
  let count = 0;
  let since = performance.now();
  session.on("ping", () => {
    const now = performance.now();
    if (now - since > 1000) {
      count = 0;
      since = now;
    }
    if (++count > perSecond) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
}
