/**
 * The agent's HTTP port (15020): readiness, merged metrics, the application's probes, and orders from the own Pod. What
 * its Envoy passes on from anyone comes to sockets that know readiness or metrics, and no orders.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { pipeline, Readable } from "node:stream";
import {
  FairleadError,
  guardConnections,
  guardRequests,
  type ListenAddress,
  type Logger,
  listenOn,
  type Overload,
  serverOptions,
  webLimits,
} from "../lib/index.ts";
import { type AppProbe, runAppProbe } from "./app-probe.ts";
import { createInFlight } from "./in-flight.ts";

export interface StatusServerOptions {
  readonly host: string;
  readonly port: number;
  /** Where Envoy, if there is one, asks for its own readiness, and for the merged metrics, on behalf of whoever asked it. */
  readonly readinessSocket?: string;
  readonly mergedMetricsSocket?: string;
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
  /** Whether a process of this Pod, and not its Envoy, is at the other end. */
  readonly isOwn: (socket: Socket) => Promise<boolean>;
  readonly onQuit: () => void;
  readonly onDrain: () => Promise<void>;
  /** Says when memory or descriptors run out. */
  readonly overload?: Overload | undefined;
  readonly log: Logger;
}

export interface StatusServer {
  readonly port: number;
  close(): Promise<void>;
}

type Handler = (request: IncomingMessage, query: string, options: Serving) => Promise<Answer>;
type Paths = ReadonlyMap<string, Handler>;

interface Answer {
  readonly status: number;
  readonly body?: string | Iterable<string>;
  readonly type?: string;
  readonly retryAfterSeconds?: number;
}

const noRoom: Answer = { status: 503, body: "too busy: try again later", retryAfterSeconds: 5 };

const readiness: Paths = new Map([["/healthz/ready", ready]]);
const mergedMetrics: Paths = new Map([
  ["/stats/prometheus", metrics],
  ["/metrics", metrics],
]);
const orders: Paths = new Map([
  ["/quitquitquit", order((options) => options.onQuit())],
  ["/drain", order((options) => options.onDrain())],
]);

/** Of scrapes with different questions. */
const maxScrapes = 8;

export async function startStatusServer(given: StatusServerOptions): Promise<StatusServer> {
  const options: Serving = { ...given, scrape: createInFlight((query) => scrape(given, query), maxScrapes) };
  const probes = [...options.appProbes].map(([path, probe]) => [path, probeHandler(probe)] as const);
  const all: Paths = new Map([...readiness, ...mergedMetrics, ...orders, ...probes]);
  const opened: StatusServer[] = [];
  const open = async (paths: Paths, address: ListenAddress): Promise<StatusServer> => {
    const server = await serve(paths, address, options);
    opened.push(server);
    return server;
  };
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((server) => server.close()));
  };
  try {
    const { port } = await open(all, { host: options.host, port: options.port });
    if (options.readinessSocket) await open(readiness, { path: options.readinessSocket });
    if (options.mergedMetricsSocket) await open(mergedMetrics, { path: options.mergedMetricsSocket });
    return { port, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function serve(paths: Paths, address: ListenAddress, options: Serving): Promise<StatusServer> {
  const server = createServer(serverOptions(webLimits), (request, response) => {
    const isRefused = connections.isRefused(request.socket);
    if (isRefused) response.setHeader("connection", "close");
    (isRefused ? Promise.resolve(noRoom) : answer(request, paths, options))
      .catch((error) => {
        options.log.warn("a request to the status port failed", { cause: FairleadError.from(error).message });
        return { status: 500 };
      })
      .then((result: Answer) => reply(response, result));
  });
  const connections = guardConnections(server, webLimits, options.overload);
  guardRequests(server, webLimits);
  const { port } = await listenOn(server, address, "choose another statusPort");
  return {
    port,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        connections.destroyAll();
      }),
  };
}

/** The path is taken as it was sent: one that would have to be put in order first is none of ours. */
function answer(request: IncomingMessage, paths: Paths, options: Serving): Promise<Answer> {
  const [path = "", ...rest] = (request.url ?? "").split("?");
  const handler = paths.get(path);
  return handler ? handler(request, rest.join("?"), options) : Promise.resolve({ status: 404 });
}

const reads: ReadonlySet<string | undefined> = new Set(["GET", "HEAD"]);
const notAllowed: Answer = { status: 405, body: "Method Not Allowed" };

async function ready(request: IncomingMessage, _: string, options: StatusServerOptions): Promise<Answer> {
  if (!reads.has(request.method)) return notAllowed;
  const missing = await options.notReady().catch((error) => FairleadError.from(error).message);
  if (missing === undefined) return { status: 200 };
  const who = options.readinessSocket === undefined ? "the agent" : "Envoy proxy";
  options.log.info(`${who} is NOT ready`, { cause: missing });
  return { status: 503, body: missing };
}

async function metrics(request: IncomingMessage, query: string, options: Serving): Promise<Answer> {
  if (!reads.has(request.method)) return notAllowed;
  if (options.overload?.shortOfMemory) {
    options.overload.refuse("request", "memory");
    return noRoom;
  }
  const scraped = await options.scrape(query);
  if (!scraped) return noRoom;
  const [envoy, app] = scraped;
  return { status: 200, body: merged(options, envoy, app), type: "text/plain; version=0.0.4; charset=utf-8" };
}

type Scraped = readonly [envoy: string, app: string];

function scrape(options: StatusServerOptions, query: string): Promise<Scraped> {
  const orNone = (whose: string) => (error: unknown) => {
    options.log.warn(`${whose} metrics cannot be read`, { cause: FairleadError.from(error).message });
    return "";
  };
  return Promise.all([
    options.envoyMetrics(query).catch(orNone("Envoy's")),
    options.appMetrics().catch(orNone("the application's")),
  ]);
}

interface Serving extends StatusServerOptions {
  readonly scrape: (query: string) => Promise<Scraped> | undefined;
}

function* merged(options: StatusServerOptions, envoy: string, app: string): Generator<string> {
  yield options.agentMetrics();
  yield* options.proxyMetrics();
  yield envoy;
  yield app;
}

function probeHandler(probe: AppProbe): Handler {
  return async (_, __, { appAddress }) => ({ status: await runAppProbe(probe, appAddress) });
}

/** Orders come from the own Pod's processes, by POST, or not at all. */
function order(run: (options: StatusServerOptions) => void | Promise<void>): Handler {
  return async (request, _, options) => {
    if (!(await options.isOwn(request.socket)))
      return { status: 403, body: "Only requests from localhost are allowed, and none by way of the proxy" };
    if (request.method !== "POST") return notAllowed;
    await run(options);
    return { status: 200, body: "OK" };
  };
}

function reply(response: ServerResponse, answer: Answer): void {
  const { status, body = "", type = "text/plain; charset=utf-8", retryAfterSeconds } = answer;
  if (retryAfterSeconds !== undefined) response.setHeader("retry-after", String(retryAfterSeconds));
  if (typeof body === "string") {
    response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
    response.end(body);
    return;
  }
  response.writeHead(status, { "content-type": type });
  // A client that leaves early ends it, and is no fault of ours.
  pipeline(Readable.from(body), response, () => {});
}
