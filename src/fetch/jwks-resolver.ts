/**
 * RequestAuthentications in; the key sets that they refer to by address or issuer, fetched and kept fresh, as a
 * collection out. The last good set is kept while its server is away; where there never was one there is none.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Collection, Graph } from "../collections/index.ts";
import { createBackoff, FairleadError, isRecord, type Logger, parseDurationMs, parseJson, wait } from "../lib/index.ts";
import {
  type Config,
  type JwksSource,
  jwksKey,
  jwksLimits,
  jwksSource,
  publicJwks,
  type RequestAuthenticationSpec,
} from "../model/index.ts";
import { createGate } from "./gate.ts";
import type { HttpClient } from "./http-client.ts";

export interface JwksResolverOptions {
  readonly graph: Graph;
  readonly client: HttpClient;
  readonly requestAuthentications: Collection<Config<RequestAuthenticationSpec>>;
  readonly log: Logger;
  readonly monotonicMs: () => number;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Told of every fetch, for istiod's counters. */
  readonly onFetch?: (good: boolean) => void;
  readonly refreshMs?: number;
  /** For tests. */
  readonly waitMs?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface JwksResolver {
  /** By `jwksKey`. */
  readonly keySets: Collection<string>;
  /** Resolves when every set that is wanted now has been tried once: proxies must not lose good keys to a restart. */
  settled(): Promise<void>;
  close(): void;
}

const defaultTimeoutMs = 5_000;
const maxTimeoutMs = 30_000;
const defaultRefreshMs = 20 * 60_000;
/** One object may name thousands of servers: sockets are kept for others, and so is the event loop. */
const fetches = { atOnce: 256, perTurn: 8 };
const appliedPerTurn = 256;
/** After a week without an answer a set is no longer trusted. */
const maxAgeMs = 7 * 24 * 3_600_000;

interface Wanted {
  readonly source: JwksSource;
  readonly timeoutMs: number;
}

interface Follower {
  readonly stop: AbortController;
  readonly tried: Promise<void>;
}

export function createJwksResolver(options: JwksResolverOptions): JwksResolver {
  const { graph, log } = options;
  const keySets = graph.source<string>("key sets", { describe: (key) => `JWKS ${key}` });
  const wanted = graph.derive<Config<RequestAuthenticationSpec>, Wanted>(
    "wanted key sets",
    options.requestAuthentications,
    ({ spec }) => wantedSets(spec),
  );
  const followers = new Map<string, Follower>();
  const gate = createGate(fetches);
  let isClosed = false;

  const follow = (key: string, want: Wanted): void => {
    const stop = new AbortController();
    const signal = AbortSignal.any([options.signal, stop.signal]);
    const tried = Promise.withResolvers<void>();
    followers.set(key, { stop, tried: tried.promise });
    keepFresh(key, want, signal, tried.resolve)
      .catch((error: unknown) => {
        if (!signal.aborted) log.error(`key set ${key}: ${FairleadError.from(error).message}`);
      })
      .finally(tried.resolve);
  };

  const keepFresh = async (key: string, want: Wanted, signal: AbortSignal, tried: () => void): Promise<void> => {
    const waitMs = options.waitMs ?? wait;
    const backoff = createBackoff({ minMs: 1_000, maxMs: 60_000, random: options.random });
    let lastGoodMs: number | undefined;
    for (;;) {
      const good = await refresh(key, want, signal);
      signal.throwIfAborted();
      if (good) {
        lastGoodMs = options.monotonicMs();
        backoff.reset();
      } else if (lastGoodMs !== undefined && options.monotonicMs() - lastGoodMs > maxAgeMs) {
        lastGoodMs = undefined;
        log.warn(`key set ${key} could not be fetched for a week and is given up; its tokens are refused`);
        keySets.delete(key);
      }
      tried();
      await waitMs(good ? (options.refreshMs ?? defaultRefreshMs) : backoff.nextMs(), signal);
    }
  };

  const refresh = async (key: string, want: Wanted, signal: AbortSignal): Promise<boolean> => {
    try {
      const text = await gate.run(async () => {
        signal.throwIfAborted();
        return fetchKeySet(options.client, want, signal);
      });
      signal.throwIfAborted();
      options.onFetch?.(true);
      const before = graph.untracked(() => keySets.get(key));
      if (before === undefined || !sameKeys(before, text)) keySets.set(key, text);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      options.onFetch?.(false);
      const kept = graph.untracked(() => keySets.get(key)) !== undefined;
      const outcome = kept ? "the last good one is kept" : "its tokens are refused";
      log.warn(`key set ${key} cannot be fetched, ${outcome}: ${FairleadError.from(error).message}`);
      return false;
    }
  };

  const apply = (key: string, now: Wanted | undefined): void => {
    followers.get(key)?.stop.abort();
    followers.delete(key);
    if (now) follow(key, now);
    else keySets.delete(key);
  };
  const changes = new Map<string, Wanted | undefined>();
  let flushing: Promise<void> | undefined;
  // Collections tell of changes in the middle of a step; sources are written after it.
  const unsubscribe = wanted.subscribe((key, now) => {
    changes.set(key, now);
    flushing ??= flush();
  });
  /** A few per turn: one object may name thousands of key sets. */
  const flush = async (): Promise<void> => {
    await Promise.resolve();
    let count = 0;
    try {
      for (const key of changes.keys()) {
        if (++count % appliedPerTurn === 0) await nextTurn();
        if (options.signal.aborted || isClosed) return;
        const now = changes.get(key);
        changes.delete(key);
        apply(key, now);
      }
    } finally {
      flushing = undefined;
    }
  };
  for (const key of wanted.keys()) apply(key, wanted.get(key));

  return {
    keySets,
    async settled() {
      await flushing;
      await Promise.all([...followers.values()].map(({ tried }) => tried));
    },
    close() {
      isClosed = true;
      unsubscribe();
      for (const { stop } of followers.values()) stop.abort();
    },
  };
}

function wantedSets(spec: RequestAuthenticationSpec): readonly (readonly [string, Wanted])[] {
  return (spec.jwtRules ?? []).flatMap((rule) => {
    const source = jwksSource(rule);
    if (!source) return [];
    const asked = rule.timeout === undefined ? undefined : parseDurationMs(rule.timeout);
    const timeoutMs = asked !== undefined && asked > 0 ? Math.min(asked, maxTimeoutMs) : defaultTimeoutMs;
    return [[jwksKey(source), { source, timeoutMs }] as const];
  });
}

async function fetchKeySet(client: HttpClient, { source, timeoutMs }: Wanted, signal: AbortSignal): Promise<string> {
  const limits = { maxBytes: jwksLimits.maxBytes, timeoutMs, signal };
  const uri = "uri" in source ? source.uri : await discoverUri(client, source.issuer, limits);
  const text = Buffer.from(await client.get(uri, limits)).toString("utf8");
  const keys = publicJwks(text);
  // What was fetched instead is not repeated: it may be somebody's secret.
  if (keys === undefined) throw new FairleadError("invalid", "the answer is not a JWKS with a usable key");
  return keys;
}

/** OpenID Connect Discovery. */
async function discoverUri(
  client: HttpClient,
  issuer: string,
  limits: Parameters<HttpClient["get"]>[1],
): Promise<string> {
  const body = await client.get(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, limits);
  const document = parseJson(Buffer.from(body).toString("utf8"), jwksLimits);
  const uri = isRecord(document) ? document.jwks_uri : undefined;
  if (typeof uri !== "string") throw new FairleadError("invalid", "the discovery document names no jwks_uri");
  return uri;
}

/** Servers may list the same keys in another order each time; proxies need not hear of it. */
function sameKeys(a: string, b: string): boolean {
  return a === b || keyTexts(a).join() === keyTexts(b).join();
}

function keyTexts(text: string): readonly string[] {
  const set = parseJson(text, jwksLimits);
  const keys = isRecord(set) && Array.isArray(set.keys) ? set.keys : [text];
  return keys.map((key) => JSON.stringify(key)).sort();
}
