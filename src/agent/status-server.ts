/** The agent's HTTP port (15020): readiness, merged metrics, the application's probes, and orders from the own Pod. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline, Readable } from "node:stream";
import { FairleadError, type Logger, systemCode } from "../lib/index.ts";
import { type AppProbe, runAppProbe } from "./app-probe.ts";

export interface StatusServerOptions {
  readonly host: string;
  readonly port: number;
  readonly notReady: () => Promise<string | undefined>;
  /** Envoy's metrics; a throw leaves them out. */
  readonly envoyMetrics: (query: string) => Promise<string>;
  readonly agentMetrics: () => string;
  /** What the agent counts for its Envoy; may be long. */
  readonly proxyMetrics: () => Iterable<string>;
  /** The application's own metrics, where it has any; a throw leaves them out. */
  readonly appMetrics: () => Promise<string>;
  readonly appProbes: ReadonlyMap<string, AppProbe>;
  readonly appAddress: string;
  readonly onQuit: () => void;
  readonly onDrain: () => Promise<void>;
  readonly log: Logger;
}

export interface StatusServer {
  readonly port: number;
  close(): Promise<void>;
}

type Handler = (request: IncomingMessage, url: URL, options: StatusServerOptions) => Promise<Answer>;

interface Answer {
  readonly status: number;
  readonly body?: string | Iterable<string>;
  readonly type?: string;
}

const handlers: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ["/healthz/ready", ready],
  ["/stats/prometheus", metrics],
  ["/metrics", metrics],
  ["/quitquitquit", order((options) => options.onQuit())],
  ["/drain", order((options) => options.onDrain())],
]);

export function startStatusServer(options: StatusServerOptions): Promise<StatusServer> {
  const server = createServer((request, response) => {
    answer(request, options)
      .catch((error) => {
        options.log.warn("a request to the status port failed", { cause: FairleadError.from(error).message });
        return { status: 500 };
      })
      .then((result: Answer) => reply(response, result));
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  return listen(server, options);
}

function listen(server: Server, { host, port }: StatusServerOptions): Promise<StatusServer> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      const busy = systemCode(cause) === "EADDRINUSE";
      reject(
        new FairleadError(busy ? "port-in-use" : "unavailable", `cannot listen on ${host}:${port}: ${cause.message}`, {
          cause,
          hint: "choose another statusPort",
        }),
      );
    });
    server.listen(port, host, () => {
      const bound = server.address();
      resolve({
        port: typeof bound === "object" && bound ? bound.port : port,
        close: () =>
          new Promise((done) => {
            server.close(() => done());
            server.closeAllConnections();
          }),
      });
    });
  });
}

function answer(request: IncomingMessage, options: StatusServerOptions): Promise<Answer> {
  const url = URL.parse(request.url ?? "/", "http://agent");
  if (!url) return Promise.resolve({ status: 400 });
  const probe = options.appProbes.get(url.pathname);
  if (probe) return runAppProbe(probe, options.appAddress).then((status) => ({ status }));
  const handler = handlers.get(url.pathname);
  return handler ? handler(request, url, options) : Promise.resolve({ status: 404 });
}

async function ready(_: IncomingMessage, __: URL, options: StatusServerOptions): Promise<Answer> {
  const missing = await options.notReady().catch((error) => FairleadError.from(error).message);
  if (missing === undefined) return { status: 200 };
  options.log.info("Envoy proxy is NOT ready", { cause: missing });
  return { status: 503, body: missing };
}

async function metrics(_: IncomingMessage, url: URL, options: StatusServerOptions): Promise<Answer> {
  const orNone = (whose: string) => (error: unknown) => {
    options.log.warn(`${whose} metrics cannot be read`, { cause: FairleadError.from(error).message });
    return "";
  };
  const [envoy, app] = await Promise.all([
    options.envoyMetrics(url.search).catch(orNone("Envoy's")),
    options.appMetrics().catch(orNone("the application's")),
  ]);
  return { status: 200, body: merged(options, envoy, app), type: "text/plain; version=0.0.4; charset=utf-8" };
}

function* merged(options: StatusServerOptions, envoy: string, app: string): Generator<string> {
  yield options.agentMetrics();
  yield* options.proxyMetrics();
  yield envoy;
  yield app;
}

/** Orders come from the own Pod, by POST, or not at all. */
function order(run: (options: StatusServerOptions) => void | Promise<void>): Handler {
  return async (request, _, options) => {
    const address = request.socket.remoteAddress ?? "";
    if (!/^(::ffff:)?127\.|^::1$/.test(address))
      return { status: 403, body: "Only requests from localhost are allowed" };
    if (request.method !== "POST") return { status: 405, body: "Method Not Allowed" };
    await run(options);
    return { status: 200, body: "OK" };
  };
}

function reply(response: ServerResponse, { status, body = "", type = "text/plain; charset=utf-8" }: Answer): void {
  if (typeof body === "string") {
    response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
    response.end(body);
    return;
  }
  response.writeHead(status, { "content-type": type });
  // A client that leaves early ends it, and is no fault of ours.
  pipeline(Readable.from(body), response, () => {});
}
