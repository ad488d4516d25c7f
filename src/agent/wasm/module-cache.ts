/**
 * What a plugin wants in; the path of a module on this machine's disk out. Modules are kept by what they were asked for,
 * over restarts too, so that a registry which is away takes nothing from those who had it; what nobody asks for goes.
 */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { FairleadError, isRecord, type Logger, parseJson } from "../../lib/index.ts";
import { replaceSecretFile } from "../../pki/index.ts";
import { type DownloadOptions, downloadModule, type NotFound, type Wanted } from "./download.ts";
import type { WasmMetrics } from "./metrics.ts";
import { sha256 } from "./registry.ts";
import { isModule } from "./unpack.ts";

export type PullPolicy = "UNSPECIFIED_POLICY" | "IfNotPresent" | "Always";

export interface ModuleRequest extends Wanted {
  /** Whose configuration it is, and which version of that: a policy of Always asks again for each version. */
  readonly resource: string;
  readonly version: string;
  readonly policy: PullPolicy;
}

export interface ModuleCacheOptions extends DownloadOptions {
  /** Absolute. */
  readonly folder: string;
  readonly expiryMs: number;
  readonly purgeMs: number;
  readonly now: () => Date;
  readonly metrics: WasmMetrics;
  readonly log: Logger;
}

export interface ModuleCache {
  get(request: ModuleRequest): Promise<{ readonly file: string } | NotFound>;
  /** Until the signal. */
  purge(signal: AbortSignal): void;
}

interface Entry {
  readonly url: string;
  readonly checksum: string;
  /** Of the module itself, which names its file. */
  readonly content: string;
  lastMs: number;
  /** By resource, the version that last had it. */
  readonly versions: Map<string, string>;
}

const maxIndexBytes = 1024 * 1024;
/** Fetches at the same time: each may hold a module in memory. */
const maxFetches = 4;

export function createModuleCache(options: ModuleCacheOptions): ModuleCache {
  const { folder, metrics, now, log } = options;
  const indexFile = join(folder, "index.json");
  const fileOf = ({ content }: Entry): string => join(folder, `${content}.wasm`);
  /** Newest last, so that the last of a URL is what it led to last. */
  let entries: Entry[] = loadIndex(indexFile);
  const proven = new Set<string>();
  const running = new Map<string, Promise<{ readonly file: string } | NotFound>>();
  const turns = createTurns(maxFetches);
  let saving: Promise<void> = Promise.resolve();
  metrics.entries(entries.length);

  const save = (): Promise<void> => {
    metrics.entries(entries.length);
    saving = saving
      .then(async () => {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        await replaceSecretFile(indexFile, JSON.stringify(entries.map(({ versions: _, ...kept }) => kept)));
      })
      .catch((error) => {
        log.warn("the list of Wasm modules cannot be written", { cause: FairleadError.from(error).message });
      });
    return saving;
  };

  /** A file that somebody touched, or that was cut off, counts as none; looked at once for each start. */
  const isSound = async (entry: Entry): Promise<boolean> => {
    if (proven.has(entry.content)) return true;
    const bytes = await readFile(fileOf(entry)).catch(() => undefined);
    if (!bytes || !isModule(bytes) || sha256(bytes) !== entry.content) return false;
    proven.add(entry.content);
    return true;
  };

  const find = async (isWanted: (entry: Entry) => boolean): Promise<Entry | undefined> => {
    const entry = entries.findLast(isWanted);
    if (!entry) return undefined;
    if (await isSound(entry)) return entry;
    entries = entries.filter((one) => one !== entry);
    return find(isWanted);
  };

  const use = (entry: Entry, { resource, version }: ModuleRequest): { readonly file: string } => {
    entry.lastMs = now().getTime();
    entry.versions.set(resource, version);
    return { file: fileOf(entry) };
  };

  const add = async (request: ModuleRequest, checksum: string, bytes: Uint8Array): Promise<Entry> => {
    const { url } = request;
    const content = sha256(bytes);
    const entry = { url, checksum, content, lastMs: now().getTime(), versions: new Map<string, string>() };
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await replaceSecretFile(fileOf(entry), bytes);
    proven.add(content);
    entries = [...entries.filter((one) => one.url !== url || one.checksum !== checksum), entry];
    await save();
    return entry;
  };

  const fetch = async (request: ModuleRequest): Promise<{ readonly file: string } | NotFound> => {
    const { url } = request;
    const known = (checksum: string): boolean => entries.some((one) => one.url === url && one.checksum === checksum);
    const found = await turns(() => downloadModule(request, options, known));
    metrics.fetched("problem" in found ? found.result : "success");
    if ("problem" in found) return lastOf(request, found);
    const here = await find((one) => one.url === url && one.checksum === found.checksum);
    if (here) entries = [...entries.filter((one) => one !== here), here];
    if (here ?? found.bytes) return use(here ?? (await add(request, found.checksum, found.bytes ?? none)), request);
    // It was known a moment ago, and has been found broken since.
    return fetch(request);
  };

  /** What the address led to before will do, where nothing was said of what it has to be. */
  const lastOf = async (request: ModuleRequest, failure: NotFound): Promise<{ readonly file: string } | NotFound> => {
    const last = request.checksum === "" ? await find(({ url }) => url === request.url) : undefined;
    if (!last) return failure;
    log.warn("a Wasm module cannot be fetched again; the last one is kept", { cause: failure.problem });
    return use(last, request);
  };

  const get: ModuleCache["get"] = async (request) => {
    const { url, resource, version } = request;
    const checksum = request.checksum || (digestOf(url) ?? "");
    const anyVersion = takesAnyVersion(request);
    const entry = await find(
      (one) =>
        one.url === url &&
        (checksum === "" ? anyVersion || one.versions.get(resource) === version : one.checksum === checksum),
    );
    metrics.lookedUp(entry !== undefined);
    if (entry) return use(entry, request);
    const key = JSON.stringify([url, checksum, request.pullSecret ?? ""]);
    const started = running.get(key) ?? fetch({ ...request, checksum }).finally(() => running.delete(key));
    running.set(key, started);
    return started;
  };

  const purgeOnce = (): void => {
    const oldest = now().getTime() - options.expiryMs;
    const gone = entries.filter(({ lastMs }) => lastMs < oldest);
    if (gone.length === 0) return;
    entries = entries.filter(({ lastMs }) => lastMs >= oldest);
    const kept = new Set(entries.map(fileOf));
    for (const entry of gone) if (!kept.has(fileOf(entry))) rmSync(fileOf(entry), { force: true });
    void save();
  };

  return {
    get,
    purge(signal) {
      const timer = setInterval(purgeOnce, options.purgeMs);
      timer.unref();
      signal.addEventListener("abort", () => clearInterval(timer), { once: true });
    },
  };
}

const none = new Uint8Array();

/** An image named by its digest cannot become another. */
const digestOf = (url: string): string | undefined => /^oci:.*@sha256:([0-9a-f]{64})$/.exec(url)?.[1];

/** Of addresses that may lead to something else tomorrow, `latest` is asked again unless the plugin says otherwise. */
function takesAnyVersion({ policy, url }: ModuleRequest): boolean {
  if (policy !== "UNSPECIFIED_POLICY") return policy === "IfNotPresent";
  return !url.startsWith("oci://") || !url.endsWith(":latest");
}

function loadIndex(file: string): Entry[] {
  try {
    const text = readFileSync(file, "utf8");
    const parsed: unknown = text.length > maxIndexBytes ? [] : parseJson(text);
    return (Array.isArray(parsed) ? parsed : []).flatMap((one: unknown) => entryOf(one) ?? []);
  } catch {
    // The first start, or a list that was cut off: everything is fetched again.
    return [];
  }
}

function entryOf(value: unknown): Entry | undefined {
  if (!isRecord(value)) return undefined;
  const { url, checksum, content, lastMs } = value;
  if (typeof url !== "string" || typeof checksum !== "string" || typeof lastMs !== "number") return undefined;
  if (typeof content !== "string" || !/^[0-9a-f]{64}$/.test(content)) return undefined;
  return { url, checksum, content, lastMs, versions: new Map() };
}

/** Runs so many at the same time, and the others after them. */
function createTurns(limit: number): <T>(run: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (run) => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
