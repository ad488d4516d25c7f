/**
 * A lasting secret in; one-time tokens for a URL, and the bearers that these are exchanged for, out. Both carry their own
 * proof, so nothing is stored but which tokens have been used: a page that is open outlives a restart.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const onceMs = 10 * 60_000;
const bearerMs = 12 * 3_600_000;

export interface Sessions {
  /** A bearer for a token of `oneTimeToken`; undefined where that is not ours, too old, or used. */
  exchange(token: string): string | undefined;
  isBearer(text: string): boolean;
}

export interface SessionsOptions {
  readonly secret: Uint8Array;
  readonly nowMs: () => number;
}

/** For the fragment of a URL, which browsers send to nobody. */
export function oneTimeToken(secret: Uint8Array, nowMs: number): string {
  return sealed(secret, "once", nowMs + onceMs);
}

export function createSessions({ secret, nowMs }: SessionsOptions): Sessions {
  // Which ones an earlier process has taken is not known here.
  const startedMs = nowMs();
  const used = new Map<string, number>();
  return {
    exchange(token) {
      const endMs = opened(secret, "once", token);
      if (endMs === undefined || endMs <= nowMs() || endMs - onceMs < startedMs - clockSlackMs) return undefined;
      if (used.has(token)) return undefined;
      for (const [other, until] of used) if (until <= nowMs()) used.delete(other);
      used.set(token, endMs);
      return sealed(secret, "bearer", nowMs() + bearerMs);
    },
    isBearer(text) {
      const endMs = opened(secret, "bearer", text);
      return endMs !== undefined && endMs > nowMs();
    },
  };
}

/** A token may be made while the server is being started. */
const clockSlackMs = 5_000;

type Use = "once" | "bearer";

function sealed(secret: Uint8Array, use: Use, endMs: number): string {
  const body = `${endMs.toString(36)}.${randomBytes(16).toString("base64url")}`;
  return `${body}.${proof(secret, use, body)}`;
}

/** When it ends. */
function opened(secret: Uint8Array, use: Use, text: string): number | undefined {
  const found = /^(([0-9a-z]{1,11})\.[\w-]{22})\.([\w-]{43})$/.exec(text);
  if (!found) return undefined;
  const [, body = "", end = "", given = ""] = found;
  const wanted = proof(secret, use, body);
  return timingSafeEqual(Buffer.from(given), Buffer.from(wanted)) ? Number.parseInt(end, 36) : undefined;
}

const proof = (secret: Uint8Array, use: Use, body: string): string =>
  createHmac("sha256", secret).update(`${use} ${body}`).digest("base64url");
