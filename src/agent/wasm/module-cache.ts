/**
 * What a plugin wants in; the path of a module on this machine's disk out. Modules are kept by what they were asked for,
 * over restarts too, so that a registry which is away takes nothing from those who had it; what nobody asks for goes.
 */
import { createLimit, FairleadError, type Logger } from "../../lib/index.ts";
import { type DownloadOptions, downloadModule, type Found, type NotFound, type Wanted } from "./download.ts";
import type { WasmMetrics } from "./metrics.ts";
import { type Entry, openModuleFiles } from "./module-files.ts";
import { sha256 } from "./registry.ts";

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
  /** Up to here several are fetched at the same time. */
  readonly smallBytes?: number;
  readonly now: () => Date;
  readonly metrics: WasmMetrics;
  readonly log: Logger;
}

export interface ModuleCache {
  get(request: ModuleRequest): Promise<{ readonly file: string } | NotFound>;
  /** Until the signal; files that are in use stay. */
  purge(signal: AbortSignal, inUse?: () => Iterable<string>): void;
}

/** Fetches at the same time: each holds a module in memory, so large ones come one by one. */
const maxFetches = 4;
const usualSmallBytes = 16 * 1024 * 1024;
/** Modules of the largest size that the folder has room for: addresses whose content changes all the time must not fill a disk. */
const maxLargest = 4;

export function createModuleCache(options: ModuleCacheOptions): ModuleCache {
  const { metrics, now, log } = options;
  const files = openModuleFiles(options.folder);
  /** Newest last, so that the last of a URL is what it led to last. */
  let entries = [...files.entries];
  const running = new Map<string, Promise<{ readonly file: string } | NotFound>>();
  const [turns, largeTurns] = [createLimit(maxFetches), createLimit(1)];
  const smallBytes = Math.min(options.maxBytes, options.smallBytes ?? usualSmallBytes);
  let saving: Promise<void> = Promise.resolve();
  metrics.entries(entries.length);

  const save = (): Promise<void> => {
    metrics.entries(entries.length);
    saving = saving
      .then(() => files.writeList(entries))
      .catch((error) => {
        log.warn("the list of Wasm modules cannot be written", { cause: FairleadError.from(error).message });
      });
    return saving;
  };

  /** Their files too, unless others have the same. */
  const drop = (gone: ReadonlySet<Entry>): void => {
    entries = entries.filter((entry) => !gone.has(entry));
    const kept = new Set(entries.map(({ content }) => content));
    for (const entry of gone) if (!kept.has(entry.content)) files.remove(entry);
  };

  const find = async (isWanted: (entry: Entry) => boolean): Promise<Entry | undefined> => {
    const entry = entries.findLast(isWanted);
    if (!entry) return undefined;
    if (await files.isSound(entry)) return entry;
    drop(new Set([entry]));
    return find(isWanted);
  };

  const use = (entry: Entry, { resource, version }: ModuleRequest): { readonly file: string } => {
    entry.lastMs = now().getTime();
    entry.versions.set(resource, version);
    return { file: files.pathOf(entry) };
  };

  const add = async (request: ModuleRequest, checksum: string, bytes: Uint8Array): Promise<Entry> => {
    const { url } = request;
    const content = sha256(bytes);
    const versions = new Map<string, string>();
    const entry: Entry = { url, checksum, content, bytes: bytes.length, lastMs: now().getTime(), versions };
    await files.write(content, bytes);
    entries = [...entries.filter((one) => one.url !== url || one.checksum !== checksum), entry];
    drop(surplus(entries, entry, maxLargest * options.maxBytes));
    await save();
    return entry;
  };

  const download = async (request: ModuleRequest, known: (checksum: string) => boolean): Promise<Found | NotFound> => {
    const found = await turns(() => downloadModule(request, { ...options, maxBytes: smallBytes }, known));
    // Most servers say how large it is, so that nothing was read in vain.
    const isLarge = "problem" in found && found.isTooLarge && smallBytes < options.maxBytes;
    return isLarge ? largeTurns(() => downloadModule(request, options, known)) : found;
  };

  const fetch = async (request: ModuleRequest): Promise<{ readonly file: string } | NotFound> => {
    const { url } = request;
    const known = (checksum: string): boolean => entries.some((one) => one.url === url && one.checksum === checksum);
    const found = await download(request, known);
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

  const purgeOnce = (inUse: ReadonlySet<string>): void => {
    const nowMs = now().getTime();
    for (const entry of entries) if (inUse.has(files.pathOf(entry))) entry.lastMs = nowMs;
    const gone = entries.filter(({ lastMs }) => lastMs < nowMs - options.expiryMs);
    if (gone.length === 0) return;
    drop(new Set(gone));
    void save();
  };

  return {
    get,
    purge(signal, inUse = () => []) {
      const timer = setInterval(() => purgeOnce(new Set(inUse())), options.purgeMs);
      timer.unref();
      signal.addEventListener("abort", () => clearInterval(timer), { once: true });
    },
  };
}

/** What was used longest ago, and never the newest, until the others have room. */
function surplus(entries: readonly Entry[], newest: Entry, maxBytes: number): ReadonlySet<Entry> {
  const gone = new Set<Entry>();
  let total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const entry of entries.toSorted((a, b) => a.lastMs - b.lastMs)) {
    if (total <= maxBytes) break;
    if (entry === newest) continue;
    gone.add(entry);
    total -= entry.bytes;
  }
  return gone;
}

const none = new Uint8Array();

/** An image named by its digest cannot become another. */
const digestOf = (url: string): string | undefined => /^oci:.*@sha256:([0-9a-f]{64})$/.exec(url)?.[1];

/** Of addresses that may lead to something else tomorrow, `latest` is asked again unless the plugin says otherwise. */
function takesAnyVersion({ policy, url }: ModuleRequest): boolean {
  if (policy !== "UNSPECIFIED_POLICY") return policy === "IfNotPresent";
  return !url.startsWith("oci://") || !url.endsWith(":latest");
}
