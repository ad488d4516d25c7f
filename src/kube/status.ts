/** The API's Status answers in, FairleadErrors out, and back: what the API said stays readable on the error. */
import { type ErrorCode, FairleadError, isRecord } from "../lib/index.ts";

/** What callers need of a metav1.Status. */
export interface ApiStatus {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly retryAfterMs: number | undefined;
}

const byHttpStatus: ReadonlyMap<number, ErrorCode> = new Map([
  [400, "invalid"],
  [401, "unauthenticated"],
  [403, "forbidden"],
  [404, "not-found"],
  [409, "conflict"],
  [413, "too-large"],
  [422, "invalid"],
  [500, "internal"],
  [504, "timeout"],
]);

/** The error for an answer that is not 2xx; `what` names the request in the message. */
export function statusError(what: string, code: number, body: unknown, retryAfterMs?: number): FairleadError {
  const field = (name: string): string => {
    const value = isRecord(body) ? body[name] : undefined;
    return typeof value === "string" ? value : "";
  };
  const status: ApiStatus = { code, reason: field("reason"), message: field("message"), retryAfterMs };
  const known = status.reason === "AlreadyExists" ? "already-exists" : (byHttpStatus.get(code) ?? "unavailable");
  return new FairleadError(known, `${what}: ${status.message || `the API answered ${code}`}`, { cause: status });
}

/** What the API said, for an error made by `statusError`. */
export function apiStatus(thrown: unknown): ApiStatus | undefined {
  if (!(thrown instanceof FairleadError) || !isRecord(thrown.cause)) return undefined;
  const { code, reason, message, retryAfterMs } = thrown.cause;
  if (typeof code !== "number" || typeof reason !== "string" || typeof message !== "string") return undefined;
  return { code, reason, message, retryAfterMs: typeof retryAfterMs === "number" ? retryAfterMs : undefined };
}
