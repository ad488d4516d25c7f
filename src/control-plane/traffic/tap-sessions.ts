/**
 * A question on live requests in, then its session again and again; what has come since the last time out. Each answer
 * waits for a while, so that whoever asks needs no stream.
 */
import { randomBytes } from "node:crypto";
import { FairleadError, type Logger, parseDurationMs } from "../../lib/index.ts";
import type { DebugView } from "../../ops/index.ts";
import type { TapAnswer } from "../../read-api/index.ts";
import type { LiveTap, TapQuestion, TapView } from "../../traffic/index.ts";

export interface TapSessions {
  /** Throws what the reader of the question, or the tap, has against it. */
  answer(query: URLSearchParams): Promise<TapAnswer>;
}

export interface TapSessionsOptions {
  readonly taps: TapView;
  readonly monotonicMs: () => number;
  readonly log: Logger;
  readonly waitMs?: number;
}

interface Session {
  readonly tap: LiveTap;
  usedAtMs: number;
}

/** Whoever does not come back has gone. */
const silentMs = 10_000;
const maxSessions = 32;
const longest = 1024;

export function createTapSessions({ taps, monotonicMs, log, waitMs = 1000 }: TapSessionsOptions): TapSessions {
  const sessions = new Map<string, Session>();

  function close(id: string): void {
    sessions.get(id)?.tap.close();
    sessions.delete(id);
  }

  function sweep(nowMs: number): void {
    for (const [id, { usedAtMs }] of sessions) if (nowMs - usedAtMs > silentMs) close(id);
  }

  function open(query: URLSearchParams, nowMs: number): TapAnswer {
    if (sessions.size >= maxSessions) throw new FairleadError("unavailable", "too many look at live requests already");
    const tap = taps.open(readQuestion(query));
    const session = randomBytes(8).toString("hex");
    sessions.set(session, { tap, usedAtMs: nowMs });
    log.info("live requests are looked at", { question: query.toString().slice(0, longest) });
    return { session, requests: [], leftOut: 0, proxies: 0, done: false };
  }

  return {
    async answer(query) {
      const nowMs = monotonicMs();
      sweep(nowMs);
      const id = query.get("session");
      if (id === null) return open(query, nowMs);
      const session = sessions.get(id);
      if (!session) throw new FairleadError("not-found", "there is no such session, or it has ended");
      session.usedAtMs = nowMs;
      if (query.has("end")) {
        close(id);
        return { session: id, requests: [], leftOut: 0, proxies: 0, done: true };
      }
      const batch = await session.tap.next(waitMs);
      session.usedAtMs = monotonicMs();
      if (batch.done) close(id);
      return { session: id, ...batch };
    },
  };
}

/** `/debug/tapz` */
export function createTapView(sessions: TapSessions): DebugView {
  return {
    help: "live requests: ?workload=&namespace=&service=&path=&status=5xx…, then ?session= again and again",
    answer: ({ query }) => sessions.answer(query),
  };
}

function readQuestion(query: URLSearchParams): TapQuestion {
  for (const [name, value] of query)
    if (value.length > longest || !parameters.has(name))
      throw new FairleadError("invalid", `${JSON.stringify(name.slice(0, 64))} is not asked for here, or is too long`);
  const of = place(query.get("namespace"), query.get("workload"));
  const peer = place(query.get("peerNamespace"), query.get("peer"));
  const service = { ...given("name", query.get("service")), ...given("namespace", query.get("serviceNamespace")) };
  const side = query.get("side");
  if (side !== null && side !== "source" && side !== "destination")
    throw new FairleadError("invalid", "side is source or destination");
  return {
    ...{ of, peer, service, ...readStatus(query.get("status")) },
    ...(side === null ? {} : { side }),
    ...given("method", query.get("method")?.toUpperCase()),
    ...given("authority", query.get("authority")),
    ...given("pathPrefix", query.get("path")),
    ...given("forMs", readAmount(query.get("for"), parseDurationMs)),
    ...given("perSecond", readAmount(query.get("rps"), Number)),
    headers: (query.get("headers") ?? "").toLowerCase().split(",").filter(Boolean),
  };
}

const parameters: ReadonlySet<string> = new Set([
  ...["namespace", "workload", "peerNamespace", "peer", "service", "serviceNamespace", "side"],
  ...["method", "authority", "path", "status", "for", "rps", "headers"],
]);

const given = <Name extends string, T>(name: Name, value: T | null | undefined): Partial<Record<Name, T>> =>
  value === null || value === undefined ? {} : ({ [name]: value } as Record<Name, T>);

const place = (namespace: string | null, workload: string | null) => ({
  ...given("namespace", namespace),
  ...given("workload", workload),
});

/** `404`, or `5xx` for all that begin like it. */
function readStatus(text: string | null): Pick<TapQuestion, "minStatus" | "maxStatus"> {
  if (text === null) return {};
  const [, first, rest = ""] = /^([1-5])(\d\d|xx)$/i.exec(text) ?? [];
  if (first === undefined) throw new FairleadError("invalid", "status is a number such as 404, or 5xx");
  const isClass = rest.toLowerCase() === "xx";
  const least = Number(first) * 100 + (isClass ? 0 : Number(rest));
  return { minStatus: least, maxStatus: isClass ? least + 99 : least };
}

function readAmount(text: string | null, read: (text: string) => number | undefined): number | undefined {
  if (text === null) return undefined;
  const amount = read(text);
  if (amount === undefined || !Number.isFinite(amount) || amount <= 0)
    throw new FairleadError("invalid", `${JSON.stringify(text.slice(0, 64))} is no time or rate above zero`);
  return amount;
}
