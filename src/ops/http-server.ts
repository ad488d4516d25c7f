/** Paths and handlers in; a bounded HTTP(S) server out. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import {
  clientOf,
  collectBytes,
  createInflow,
  drained,
  FairleadError,
  guardConnections,
  guardRequests,
  type Inflow,
  inTurns,
  type Logger,
  listenOn,
  type Overload,
  serverOptions,
  type Watchdog,
  webLimits,
} from "../lib/index.ts";

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage["headers"];
  readonly remoteAddress: string;
  /** The body as text, at most `maxBodyBytes`. */
  body(): Promise<string>;
  /** Comes when who asked has gone before the answer. */
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly type?: string;
  /** Pieces of a long text are made and written in short turns; a function is handed the open answer, and goes on for as long as it likes. */
  readonly body: string | Uint8Array | TextPieces | ((stream: HttpStream) => void);
  readonly headers?: Readonly<Record<string, string>>;
  /** When to ask again. */
  readonly retryAfterSeconds?: number;
  /** Where to ask instead. */
  readonly location?: string;
}

export interface TextPieces {
  readonly pieces: Iterable<string>;
}

/** An answer that goes on. */
export interface HttpStream {
  write(text: string): void;
  /** Whether its reader has not taken yet what was written. */
  isBehind(): boolean;
  onClose(act: () => void): void;
  end(): void;
}

/** For whoever cannot be served now. */
export const noRoom: HttpAnswer = { status: 503, body: "too busy: try again later\n", retryAfterSeconds: 5 };

export type HttpHandler = (request: HttpRequest) => Promise<HttpAnswer> | HttpAnswer;

export interface HttpServerOptions {
  readonly address: { readonly host: string; readonly port: number };
  /** Longest matching prefix wins; an exact path is a prefix of itself. */
  readonly routes: ReadonlyMap<string, HttpHandler>;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly log: Logger;
  readonly maxBodyBytes?: number;
  /** Of all bodies together that have come in part. */
  readonly maxInflowBytes?: number;
  /** Says when descriptors run out: requests on new connections are then refused. */
  readonly overload?: Overload | undefined;
  /** Told of each request, so that it can name one that holds up all others. */
  readonly watchdog?: Watchdog | undefined;
}

export interface HttpServer {
  readonly address: { readonly host: string; readonly port: number };
  setTls(tls: { readonly cert: string; readonly key: string }): void;
  close(): Promise<void>;
}

/** Ten of the largest, or thousands of the usual ones. */
const usualInflowBytes = 64 * 1024 * 1024;

export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const inflow = createInflow(options.maxInflowBytes ?? usualInflowBytes);
  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    const isRefused = connections.isRefused(req.socket);
    const gone = new AbortController();
    res.once("close", () => gone.abort());
    (isRefused ? Promise.resolve(noRoom) : answer(req, gone.signal, inflow, options))
      .catch((thrown: unknown): HttpAnswer => {
        const error = FairleadError.from(thrown);
        if (error.code === "internal") options.log.error(`${req.method} ${req.url}: ${error.message}`);
        return { status: statusOf(error), body: `${error.code === "internal" ? "internal error" : error.message}\n` };
      })
      .then(({ status, type = "text/plain; charset=utf-8", body, headers, retryAfterSeconds, location }) => {
        res.writeHead(status, {
          ...headers,
          "content-type": type,
          "x-content-type-options": "nosniff",
          ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
          ...(location === undefined ? {} : { location }),
          ...(isRefused ? { connection: "close" } : {}),
        });
        if (typeof body === "function") return body(openStream(res));
        if (typeof body === "object" && "pieces" in body) return writePieces(res, body);
        res.end(body);
      })
      .catch((thrown: unknown) => {
        options.log.error(`${req.method} ${req.url}: ${FairleadError.from(thrown).message}`);
        res.destroy();
      });
  };
  const bounds = serverOptions(webLimits);
  const server: Server = options.tls
    ? createSecureServer({ ...options.tls, ...bounds, minVersion: "TLSv1.2" }, listener)
    : createServer(bounds, listener);
  const connections = guardConnections(server, webLimits, options.overload);
  guardRequests(server, webLimits);
  const { port } = await listenOn(server, options.address);
  return {
    address: { host: options.address.host, port },
    setTls(tls) {
      if ("setSecureContext" in server && typeof server.setSecureContext === "function") server.setSecureContext(tls);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        connections.destroyAll();
      }),
  };
}

/** A reader that is gone ends the making; one that is slow draws it out. */
async function writePieces(res: ServerResponse, { pieces }: TextPieces): Promise<void> {
  for await (const text of inTurns(pieces)) {
    if (res.destroyed) return;
    if (!res.write(text)) await drained(res);
  }
  res.end();
}

function openStream(res: ServerResponse): HttpStream {
  res.flushHeaders();
  return {
    write: (text) => void res.write(text),
    isBehind: () => res.writableNeedDrain,
    onClose: (act) => void res.once("close", act),
    end: () => void res.end(),
  };
}

async function answer(
  req: IncomingMessage,
  signal: AbortSignal,
  inflow: Inflow,
  options: HttpServerOptions,
): Promise<HttpAnswer> {
  const url = URL.parse(req.url ?? "/", "http://localhost");
  if (!url) return { status: 400, body: "400 bad request\n" };
  const location = cleaned(req.url ?? "/");
  if (location !== undefined) return { status: 301, body: "", location };
  const handler = findHandler(options.routes, url.pathname);
  if (!handler) return { status: 404, body: "404 page not found\n" };
  const begin = (): void => options.watchdog?.begin(`${req.method} ${url.pathname}`);
  begin();
  return await handler({
    method: req.method ?? "GET",
    url,
    headers: req.headers,
    remoteAddress: req.socket.remoteAddress ?? "",
    body: () => readBody(req, { maxBytes: options.maxBodyBytes ?? 6 * 1024 * 1024, inflow, begin }),
    signal,
  });
}

/** Go's servers send whoever asks for `//version`, as istioctl does, to `/version`. */
function cleaned(target: string): string | undefined {
  const [path = "", ...query] = target.split("?");
  if (!path.startsWith("/") || !path.includes("//")) return undefined;
  // Browsers take a backslash for a slash, and two at the beginning for another site.
  return [path.replaceAll(/\/{2,}/g, "/").replaceAll("\\", "%5C"), ...query].join("?");
}

/** Names and addresses by which a person or a port-forward reaches this machine; any other name came from elsewhere. */
export function isLocalHost(host: string): boolean {
  const name = host.replace(/:\d+$/, "");
  return name === "localhost" || name === "[::1]" || /^\d+\.\d+\.\d+\.\d+$/.test(name);
}

/** Browsers say so of what the page of another site asks for; nobody else sends this header. */
export function isOtherSite({ "sec-fetch-site": site }: IncomingMessage["headers"]): boolean {
  return site === "cross-site" || site === "same-site";
}

function findHandler(routes: ReadonlyMap<string, HttpHandler>, path: string): HttpHandler | undefined {
  const best = [...routes.keys()]
    .filter((prefix) => path === prefix || (prefix.endsWith("/") && path.startsWith(prefix)))
    .sort((a, b) => b.length - a.length)[0];
  return best === undefined ? undefined : routes.get(best);
}

/** How long a client whose body is too large may go on sending before it is cut off: long enough to read its answer. */
const lingerMs = 1_000;

interface BodyOptions {
  readonly maxBytes: number;
  readonly inflow: Inflow;
  /** Told when all of it is here: what comes of it runs in that turn. */
  readonly begin: () => void;
}

function readBody(req: IncomingMessage, { maxBytes, inflow, begin }: BodyOptions): Promise<string> {
  if (req.headers["content-encoding"])
    return Promise.reject(new FairleadError("invalid", "encoded bodies are not accepted"));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let bytes = collectBytes();
  let isRefused = false;
  const part = inflow.open(clientOf(req.socket) ?? "", () =>
    refuse(new FairleadError("unavailable", "too many large bodies come at once: try again")),
  );
  /** It is read on for a moment, so that the client comes to read why. */
  function refuse(error: FairleadError): void {
    isRefused = true;
    bytes = collectBytes();
    part.close();
    reject(error);
    const cut = setTimeout(() => req.destroy(), lingerMs);
    req.once("close", () => clearTimeout(cut));
  }
  req.on("data", (chunk: Buffer) => {
    if (isRefused) return;
    if (bytes.size + chunk.length > maxBytes) {
      refuse(new FairleadError("too-large", `the body has more than ${maxBytes} bytes`));
      return;
    }
    bytes.add(chunk);
    part.hold(bytes.size);
  });
  req.on("end", () => {
    part.close();
    begin();
    resolve(bytes.whole().toString("utf8"));
  });
  req.on("close", part.close);
  req.on("error", () => reject(new FairleadError("invalid", "the body could not be read")));
  return promise;
}

/** With which status a failure is answered. */
export function statusOf(error: FairleadError): number {
  const codes = new Map([
    ["invalid", 400],
    ["usage", 400],
    ["unauthenticated", 401],
    ["forbidden", 403],
    ["not-found", 404],
    ["too-large", 413],
    ["unavailable", 503],
  ]);
  return codes.get(error.code) ?? 500;
}
