/** One API's address and credentials in, HTTP requests to it out: over one connection, made anew when the credentials change or it ends. */
import type { Readable } from "node:stream";
import { collectBytes, FairleadError, fileLimits, parseJson, systemCode } from "../lib/index.ts";
import { type Answer, type Connection, NotSent, openConnection, type RequestHead } from "./connection.ts";
import type { Credentials } from "./exec-credentials.ts";
import type { ClusterAccess } from "./kubeconfig.ts";
import { answerDepth } from "./narrow.ts";
import { apiStatus, statusError } from "./status.ts";

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: unknown;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** The answer may be silent for any time once it has begun: a watch. */
  readonly endless?: boolean;
}

export interface Transport {
  /** The body of a 2xx answer; anything else is thrown as the error that the API described. */
  open(request: HttpRequest): Promise<Readable>;
  text(request: HttpRequest): Promise<string>;
  json(request: HttpRequest): Promise<unknown>;
  close(): void;
}

export interface TransportOptions {
  /** What the API warns of in its answers, as kubectl prints it. */
  readonly onWarning?: (text: string) => void;
}

const maxAnswerBytes = fileLimits.maxBytes;

/** Asking again changes nothing. */
const readMethods: ReadonlySet<string> = new Set(["GET", "HEAD"]);

export function createTransport(access: ClusterAccess, options: TransportOptions = {}): Transport {
  const base = new URL(access.server);
  const prefix = base.pathname.replace(/\/$/, "");
  let current: { readonly id: string; readonly connection: Promise<Connection>; ready?: Connection } | undefined;
  let closed = false;

  // A write may have to wait for webhooks.
  const silenceMs = (method: string): number =>
    readMethods.has(method) && access.patienceMs !== undefined ? access.patienceMs : 60_000;

  const connect = (credentials: Credentials): Promise<Connection> => {
    const id = `${credentials.cert ?? ""}\n${credentials.ca ?? ""}`;
    const known = current;
    if (known?.id === id && (known.ready?.usable ?? true)) return known.connection;
    // Running requests keep the connection that they are on.
    known?.ready?.retire();
    const connection = openConnection({
      host: base.hostname.replace(/^\[|\]$/g, ""),
      port: base.port === "" ? 443 : Number(base.port),
      tls: {
        ca: credentials.ca ?? access.ca,
        cert: credentials.cert,
        key: credentials.key,
        rejectUnauthorized: !access.insecure,
        ...serverName(access.serverName ?? base.hostname),
      },
      ...(access.patienceMs === undefined ? {} : { handshakeMs: access.patienceMs }),
    });
    const made: typeof current = { id, connection };
    current = made;
    connection.then(
      (ready) => {
        made.ready = ready;
        if (closed) ready.destroy();
      },
      () => {
        if (current === made) current = undefined;
      },
    );
    return connection;
  };

  const once = async (r: HttpRequest, refused: boolean): Promise<Answer> => {
    const credentials = await access.credentials(refused);
    const body = r.body === undefined ? undefined : Buffer.from(JSON.stringify(r.body));
    const head: RequestHead = {
      method: r.method,
      path: `${prefix}${r.path}${queryText(r.query)}`,
      headers: headersFor(base.host, r, credentials, body),
      body,
      signal: r.signal,
      timeoutMs: r.timeoutMs,
      endless: r.endless === true,
    };
    const attempt = async (): Promise<Answer> => {
      r.signal?.throwIfAborted();
      if (closed) throw new FairleadError("unavailable", "this client is closed");
      return await (await unlessAborted(connect(credentials), r.signal)).send(head);
    };
    try {
      return await attempt().catch((error: unknown) => {
        const repeatable = error instanceof NotSent || (readMethods.has(r.method) && isLost(error));
        if (!repeatable || r.signal?.aborted) throw error;
        return attempt();
      });
    } catch (error) {
      throw connectError(access.server, error);
    }
  };

  const succeed = async (r: HttpRequest): Promise<Answer> => {
    let answer = await once(r, false);
    if (answer.status === 401) {
      // The token may just have been rotated: it is read again once.
      answer.body.on("error", () => {}).resume();
      answer = await once(r, true);
    }
    if (options.onWarning) for (const warning of warningsIn(answer)) options.onWarning(warning);
    if (answer.status >= 200 && answer.status < 300) return answer;
    const text = await readAll(answer).catch(() => "");
    if (answer.status === 401) throw refusedError(access.server, tryJson(text));
    throw statusError(`${r.method} ${r.path}`, answer.status, tryJson(text), retryAfter(answer));
  };

  const text = async (r: HttpRequest): Promise<string> => {
    const read = async (): Promise<string> => readAll(await succeed(r));
    try {
      return await read().catch((error: unknown) => {
        if (!readMethods.has(r.method) || !(error instanceof CutShort) || r.signal?.aborted) throw error;
        return read();
      });
    } catch (error) {
      throw connectError(access.server, error);
    }
  };

  return {
    open: async (r) => (await succeed(r)).body,
    text: (r) => text({ timeoutMs: silenceMs(r.method), ...r }),
    json: async (r) => {
      const body = await text({ timeoutMs: silenceMs(r.method), ...r });
      return body === "" ? undefined : parseJson(body, { ...fileLimits, maxDepth: answerDepth });
    },
    close() {
      closed = true;
      current?.ready?.destroy();
    },
  };
}

/** A connection may be awaited by others too: it is only not awaited any longer. */
function unlessAborted<T>(waited: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return waited;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    waited.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** An address has no name that could be asked for. */
function serverName(name: string): { servername?: string } {
  return /^[\d.]+$|:|^\[/.test(name) ? {} : { servername: name };
}

/** The last one: a body that closed before its end, without a word of why. */
const lostCodes: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE"]);

/** The connection broke; whether the server has seen the request is not known. */
function isLost(error: unknown): boolean {
  if (error instanceof FairleadError) return error.code === "unavailable";
  const code = systemCode(error) ?? "";
  return lostCodes.has(code) || code.startsWith("ERR_HTTP2_");
}

function headersFor(
  host: string,
  r: HttpRequest,
  credentials: Credentials,
  body: Buffer | undefined,
): Record<string, string> {
  return {
    host,
    accept: r.accept ?? "application/json",
    "user-agent": "fairlead",
    ...(credentials.token === undefined ? {} : { authorization: `Bearer ${credentials.token}` }),
    ...(body === undefined
      ? {}
      : { "content-type": r.contentType ?? "application/json", "content-length": String(body.length) }),
  };
}

/** The beginning of an answer came, and then no more of it. */
class CutShort extends Error {}

/** The whole body: its beginning alone may be no JSON, or look like an answer with less in it. */
async function readAll(answer: Answer): Promise<string> {
  const bytes = collectBytes();
  const expected = answer.headers["content-length"];
  // Node may close a stream before it says that its body has ended, of which all has come.
  const isWhole = (): boolean => typeof expected === "string" && Number(expected) === bytes.size;
  const cut = (cause?: unknown): CutShort =>
    new CutShort(`the answer ended after ${bytes.size}${expected === undefined ? "" : ` of ${expected}`} bytes`, {
      cause,
    });
  try {
    for await (const chunk of answer.body) {
      bytes.add(chunk as Buffer);
      if (bytes.size > maxAnswerBytes)
        throw new FairleadError("too-large", `the API's answer has more than ${maxAnswerBytes} bytes`);
    }
  } catch (error) {
    if (!isLost(error)) throw error;
    if (!isWhole()) throw cut(error);
  }
  if (!isWhole() && (expected !== undefined || (await answer.wasCut()))) throw cut();
  return bytes.whole().toString();
}

function queryText(query: HttpRequest["query"]): string {
  const set = Object.entries(query ?? {}).filter((e): e is [string, string] => e[1] !== undefined && e[1] !== "");
  return set.length === 0 ? "" : `?${new URLSearchParams(set)}`;
}

/** Those of RFC 7234: code, who says it, and the text in quotes. */
function warningsIn(answer: Answer): readonly string[] {
  const header = answer.headers["warning"] ?? [];
  const lines = typeof header === "string" ? header : header.join(", ");
  return [...lines.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) => text.replace(/\\(.)/g, "$1"));
}

function retryAfter(answer: Answer): number | undefined {
  const seconds = Number(answer.headers["retry-after"]);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

function tryJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Tokens end, and kubeconfigs are mixed up: the address is what people look at first. */
function refusedError(server: string, body: unknown): FairleadError {
  const { cause } = statusError("", 401, body);
  return new FairleadError("unauthenticated", `the API at ${server} does not accept the credentials: Unauthorized`, {
    hint: "a token may have expired, or the kubeconfig's context is another's: log in again, or name one with --context",
    cause,
  });
}

function connectError(server: string, error: unknown): Error {
  const late = error instanceof NotSent ? error.cause : error;
  // A gateway that says so by itself (504) has answered.
  if (late instanceof FairleadError && late.code === "timeout" && !apiStatus(late))
    return new FairleadError("timeout", `the API at ${server} gives no answer: ${late.message}`, {
      hint: "is it the right --context, and is the API up? `kubectl get --raw /readyz` asks the same",
      cause: late,
    });
  if (error instanceof FairleadError || (error instanceof Error && error.name === "AbortError")) return error;
  const cause = error instanceof NotSent ? error.cause : error;
  if (error instanceof CutShort) return new FairleadError("unavailable", `${server}: ${error.message}`, { cause });
  const said = systemCode(cause) ?? (error instanceof Error ? error.message : String(error));
  return new FairleadError("unavailable", `cannot reach the API at ${server}: ${said}`, { cause: error });
}
