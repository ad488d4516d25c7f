/**
 * The one HTTP client for addresses that come from outside: a URL in, the body out, within bounds of size, time and
 * redirects, and never from an address that the guard refuses. It reads no proxy settings from the environment.
 */
import { lookup as systemLookup } from "node:dns";
import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { type AddressGuard, collectBytes, FairleadError, guardedLookup, isLoopbackHost } from "../lib/index.ts";

export interface HttpClientOptions {
  readonly guard: AddressGuard;
  /** Further roots, as PEM, beside those of the system. */
  readonly extraRoots?: string;
  /** For tests; the system's resolver where absent. */
  readonly lookup?: typeof systemLookup;
}

export interface FetchLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface FetchRequest extends FetchLimits {
  /** Credentials among them stay with the host that they are for, wherever it redirects to. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The server's certificate is not checked; that of one it redirects to is. */
  readonly insecure?: boolean;
}

export interface FetchAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Empty but for a 2xx answer. */
  readonly body: Uint8Array;
}

export interface HttpClient {
  /** The body of a 2xx answer; anything else is a FairleadError that names the URL, without what was sent back. */
  get(url: string, limits: FetchLimits): Promise<Uint8Array>;
  /** The answer as it is, after redirects; a FairleadError where there is none. */
  ask(url: string, request: FetchRequest): Promise<FetchAnswer>;
}

const maxRedirects = 3;
const maxHeaderBytes = 32 * 1024;

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const lookup = guardedLookup(options.guard, options.lookup ?? systemLookup);
  const plain = new HttpAgent({ keepAlive: false });
  let encrypted: Promise<HttpsAgent> | undefined;
  let unchecked: HttpsAgent | undefined;
  const agentFor = async (url: URL, insecure: boolean): Promise<HttpAgent> => {
    if (url.protocol === "http:") return plain;
    if (insecure) {
      unchecked ??= new HttpsAgent({ keepAlive: false, rejectUnauthorized: false });
      return unchecked;
    }
    encrypted ??= trustedRoots(options.extraRoots).then(
      (secureContext) => new HttpsAgent({ keepAlive: false, secureContext }),
    );
    return encrypted;
  };

  const send = async (
    url: URL,
    own: FetchRequest["headers"],
    insecure: boolean,
    signal: AbortSignal,
  ): Promise<IncomingMessage> => {
    const agent = await agentFor(url, insecure);
    return new Promise((resolve, reject) => {
      const host = hostOf(url);
      // Addresses are not looked up, so the guard is asked here.
      const refused = isIP(host) ? options.guard(host) : undefined;
      if (refused !== undefined) {
        reject(new FairleadError("forbidden", `${place(url)}: ${refused}`));
        return;
      }
      const begin = url.protocol === "https:" ? httpsRequest : httpRequest;
      const request = begin(url, {
        agent,
        lookup,
        signal,
        maxHeaderSize: maxHeaderBytes,
        headers: { accept: "application/json", "accept-encoding": "identity", "user-agent": "fairlead", ...own },
      });
      request.once("response", resolve);
      request.once("error", (error) => reject(failure(url, error, signal)));
      request.end();
    });
  };

  const ask: HttpClient["ask"] = async (text, request) => {
    const { maxBytes, timeoutMs, signal: outer, insecure = false } = request;
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = outer ? AbortSignal.any([outer, deadline]) : deadline;
    const first = parseUrl(text);
    let url = first;
    for (let hop = 0; hop <= maxRedirects; hop++) {
      const unsafe = insecure && url.host === first.host;
      const response = await send(url, headersFor(first, url, request.headers), unsafe, signal);
      const next = redirect(url, response);
      if (next) {
        response.destroy();
        url = next;
        continue;
      }
      const { statusCode: status = 0, headers } = response;
      const isGood = status >= 200 && status <= 299;
      if (!isGood) response.destroy();
      return { status, headers, body: isGood ? await body(url, response, maxBytes, signal) : new Uint8Array() };
    }
    throw new FairleadError("unavailable", `${place(first)}: more than ${maxRedirects} redirects`);
  };

  return {
    ask,
    async get(text, limits) {
      const { status, body: found } = await ask(text, limits);
      if (status < 200 || status > 299)
        throw new FairleadError("unavailable", `${place(parseUrl(text))} answers with status ${status}`);
      return found;
    },
  };
}

/** A redirect elsewhere does not take the credentials along. */
function headersFor(first: URL, url: URL, headers: FetchRequest["headers"] = {}): NonNullable<FetchRequest["headers"]> {
  if (url.origin === first.origin) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== "authorization"));
}

/** Hundreds of certificates: made once, only when https is asked for, and read and taken in turns of their own. */
async function trustedRoots(extra: string | undefined): Promise<SecureContext> {
  await nextTurn();
  const ca = [...getCACertificates("bundled"), ...getCACertificates("system"), ...(extra ? [extra] : [])];
  await nextTurn();
  const context = createSecureContext({ ca, minVersion: "TLSv1.2" });
  await nextTurn();
  return context;
}

function parseUrl(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined;
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:") || url.hostname === "")
    throw new FairleadError("invalid", `${text} is not an address that can be fetched`, {
      hint: "it must begin with http:// or https:// and name a host",
    });
  if (url.username !== "" || url.password !== "")
    throw new FairleadError("invalid", `${place(url)}: names and passwords in addresses are not accepted`);
  return url;
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "");

/** Without query, where secrets may be. */
const place = (url: URL): string => `${url.protocol}//${url.host}${url.pathname}`;

function redirect(from: URL, response: IncomingMessage): URL | undefined {
  const { statusCode = 0, headers } = response;
  if (![301, 302, 303, 307, 308].includes(statusCode) || headers.location === undefined) return undefined;
  const next = parseUrl(headers.location, from);
  if (isLoopbackHost(hostOf(next)) && !isLoopbackHost(hostOf(from)))
    throw new FairleadError("forbidden", `${place(from)} redirects to ${place(next)}, which is this machine itself`);
  if (from.protocol === "https:" && next.protocol === "http:")
    throw new FairleadError("forbidden", `${place(from)} redirects to ${place(next)}, which is not encrypted`);
  return next;
}

async function body(url: URL, response: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const { headers } = response;
  const fail = (error: FairleadError): never => {
    response.destroy();
    throw error;
  };
  // A compressed answer could inflate past the bound.
  if ((headers["content-encoding"] ?? "identity") !== "identity")
    fail(new FairleadError("invalid", `${place(url)} answers with an encoding that was not asked for`));
  const tooLarge = new FairleadError("too-large", `${place(url)} answers with more than ${maxBytes} bytes`);
  if (Number(headers["content-length"] ?? 0) > maxBytes) fail(tooLarge);
  const bytes = collectBytes();
  try {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      if (bytes.size + chunk.length > maxBytes) fail(tooLarge);
      bytes.add(chunk);
    }
  } catch (error) {
    throw failure(url, error, signal);
  }
  return bytes.whole();
}

function failure(url: URL, error: unknown, signal: AbortSignal): FairleadError {
  if (error instanceof FairleadError) return error;
  if (signal.aborted && signal.reason instanceof DOMException && signal.reason.name === "TimeoutError")
    return new FairleadError("timeout", `${place(url)} did not answer in time`);
  const message = error instanceof Error ? error.message : "cannot be reached";
  return new FairleadError("unavailable", `${place(url)}: ${message}`, { cause: error });
}
