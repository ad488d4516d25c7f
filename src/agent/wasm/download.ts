/** The address of a module and what is expected of it in; its bytes, checked, or why there are none, out. */
import type { FetchAnswer, HttpClient } from "../../fetch/index.ts";
import { createBackoff, FairleadError, wait } from "../../lib/index.ts";
import { parseImageReference } from "./image-reference.ts";
import { findImage, type RemoteImage, sha256 } from "./registry.ts";
import { isModule, unpackModule } from "./unpack.ts";

export interface DownloadOptions {
  readonly http: HttpClient;
  readonly maxBytes: number;
  /** For each request. */
  readonly requestTimeoutMs: number;
  readonly maxRetries: number;
  isInsecure(host: string): boolean;
  readonly random: () => number;
}

export interface Wanted {
  readonly url: string;
  /** Hex SHA-256 of the module, or of the image's manifest; empty where any will do. */
  readonly checksum: string;
  readonly pullSecret: string | undefined;
  /** For all requests together. */
  readonly timeoutMs: number;
}

export interface Found {
  /** What this module goes by: as in `Wanted`. */
  readonly checksum: string;
  /** Undefined where `isKnown` knew the checksum. */
  readonly bytes: Uint8Array | undefined;
}

export interface NotFound {
  /** As metrics name it. */
  readonly result: "download_failure" | "manifest_failure" | "checksum_mismatched" | "fetch_failure";
  readonly problem: string;
  /** It has more bytes than were to be read. */
  readonly isTooLarge?: boolean;
}

/** Others wait for their turn meanwhile. */
const maxTimeoutMs = 10 * 60_000;

/** `isKnown` saves the download of an image whose module is here already. */
export async function downloadModule(
  wanted: Wanted,
  options: DownloadOptions,
  isKnown: (checksum: string) => boolean,
): Promise<Found | NotFound> {
  const signal = AbortSignal.timeout(Math.min(maxTimeoutMs, Math.max(0, Math.ceil(wanted.timeoutMs))));
  const found = wanted.url.startsWith("oci://")
    ? await fromRegistry(wanted, options, signal, isKnown)
    : await fromServer(wanted, options, signal);
  if ("problem" in found || !found.bytes || isModule(found.bytes)) return found;
  return { result: "fetch_failure", problem: `${place(wanted.url)} is no Wasm module` };
}

async function fromRegistry(
  { url, checksum, pullSecret }: Wanted,
  { http, maxBytes, requestTimeoutMs, isInsecure }: DownloadOptions,
  signal: AbortSignal,
  isKnown: (checksum: string) => boolean,
): Promise<Found | NotFound> {
  const find = async (): Promise<RemoteImage> => {
    const reference = parseImageReference(url);
    const insecure = isInsecure(reference.registry);
    return findImage(reference, { http, maxBytes, timeoutMs: requestTimeoutMs, signal, pullSecret, insecure });
  };
  const image = await tried(find);
  if ("problem" in image) return { ...image, result: "manifest_failure", problem: `${url}: ${image.problem}` };
  const [own = ""] = image.value.digests;
  if (checksum !== "" && !image.value.digests.includes(checksum))
    return { result: "checksum_mismatched", problem: `${url} has the digest ${own}, not ${checksum}` };
  const key = checksum === "" ? own : checksum;
  if (isKnown(key)) return { checksum: key, bytes: undefined };
  const module = await tried(image.value.module);
  if ("problem" in module) return { ...module, result: "download_failure", problem: `${url}: ${module.problem}` };
  return { checksum: key, bytes: module.value };
}

async function fromServer(
  { url, checksum }: Wanted,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<Found | NotFound> {
  const fetched = await tried(async () => unpackModule(await withRetries(url, options, signal), options.maxBytes));
  if ("problem" in fetched) return { ...fetched, result: "download_failure" };
  const own = sha256(fetched.value);
  return checksum === "" || checksum === own
    ? { checksum: own, bytes: fetched.value }
    : { result: "checksum_mismatched", problem: `${place(url)} has the checksum ${own}, not ${checksum}` };
}

/** Without query, where secrets may be. */
const place = (url: string): string => url.replace(/[?#].*$/s, "");

async function tried<T>(
  run: () => Promise<T>,
): Promise<{ readonly value: T } | Pick<NotFound, "problem" | "isTooLarge">> {
  try {
    return { value: await run() };
  } catch (error) {
    const { message, code } = FairleadError.from(error);
    return { problem: message, isTooLarge: code === "too-large" };
  }
}

async function withRetries(url: string, options: DownloadOptions, signal: AbortSignal): Promise<Uint8Array> {
  const { http, maxBytes, requestTimeoutMs, maxRetries, isInsecure, random } = options;
  const backoff = createBackoff({ minMs: 500, maxMs: 10_000, random });
  const insecure = URL.canParse(url) && isInsecure(new URL(url).host);
  const limits = { maxBytes, timeoutMs: requestTimeoutMs, signal, insecure, headers: { accept: "*/*" } };
  for (let attempt = 1; ; attempt++) {
    const answer = await http.ask(url, limits).catch((error: unknown) => FairleadError.from(error));
    const failure = failureOf(url, answer);
    if (!failure && "body" in answer) return answer.body;
    if (attempt >= maxRetries || signal.aborted || !mayPass(answer)) throw failure;
    await wait(backoff.nextMs(), signal).catch(() => {});
  }
}

function failureOf(url: string, answer: FairleadError | FetchAnswer): FairleadError | undefined {
  if (answer instanceof FairleadError) return answer;
  if (answer.status >= 200 && answer.status <= 299) return undefined;
  return new FairleadError("unavailable", `${place(url)} answers with status ${answer.status}`);
}

/** Whether another attempt may come to something else. */
function mayPass(answer: FairleadError | FetchAnswer): boolean {
  if (answer instanceof FairleadError) return answer.code === "unavailable" || answer.code === "timeout";
  return answer.status >= 500 && ![501, 505, 511].includes(answer.status);
}
