/** Options in, a running API out: opens the store, brings in what belongs to a first start, listens. */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { crdFor } from "../config/index.ts";
import {
  type Connections,
  createWatchdog,
  FairleadError,
  guardConnections,
  guardRequests,
  type Logger,
  listenOn,
  type Overload,
  openSocketFolder,
  serverOptions,
  webLimits,
} from "../lib/index.ts";
import { type KubeObject, kinds as meshKinds } from "../model/index.ts";
import { replaceSecretFile } from "../pki/index.ts";
import { aggregateRoles } from "./aggregate-roles.ts";
import { type Authority, openAuthority } from "./authority.ts";
import { createAuthorizer } from "./authorizer.ts";
import { bootstrapObjects } from "./bootstrap.ts";
import { machineMeter } from "./computed/node-metrics.ts";
import type { Parts } from "./context.ts";
import { controlPlaneUser } from "./control-plane-user.ts";
import { createDefinitions } from "./definitions.ts";
import { expireEvents } from "./event-expiry.ts";
import { createHandler, type Handler } from "./handler.ts";
import { createKindRegistry } from "./kind-registry.ts";
import { formatKubeconfig } from "./kubeconfig.ts";
import { createApiMetrics } from "./metrics.ts";
import { recordShortage } from "./no-room.ts";
import { createOtherPaths } from "./other-paths.ts";
import { seed } from "./seed.ts";
import { createShaper } from "./shape.ts";
import { createCustomValidator } from "./shape-custom.ts";
import { createSnapshots } from "./snapshots.ts";
import { createStore } from "./store.ts";
import { openStoreFile } from "./store-file.ts";
import { createUpgradeHandler, type UpgradeHandler } from "./streams/upgrade.ts";
import { openTokens } from "./tokens.ts";
import { createTurnQueue } from "./turn-queue.ts";
import type { WatchTimes } from "./watch.ts";
import { createWatchHub, type HistoryLimits, historyLimits } from "./watch-hub.ts";
import { createWatchLines } from "./watch-lines.ts";
import type { ServiceResolver } from "./webhook-call.ts";
import { createWebhooks } from "./webhooks.ts";

export interface ApiServerOptions {
  readonly dataDir: string;
  readonly host?: string;
  /** 0 picks a free one. */
  readonly port?: number;
  /** Further names and addresses for the server's certificate. */
  readonly names?: readonly string[];
  readonly now: () => Date;
  readonly log: Logger;
  /** Where a webhook that names a Service is reached. */
  readonly resolveService?: ServiceResolver;
  readonly watchTimes?: WatchTimes;
  /** Events kept per kind for watches that resume. */
  readonly historyLimit?: number;
  /** Folder of the sockets by which Pods are reached that run on this machine, as UID.sock. */
  readonly podDir?: string;
  /** Says when memory or descriptors run out: what cannot be served is then told to come back. */
  readonly overload?: Overload;
  /** How often whoever started this API had to start it again. */
  readonly restarts?: number;
}

export interface KubeconfigUser {
  readonly user: string;
  readonly group?: string;
}

export interface ApiServer {
  /** `127.0.0.1:6443`. */
  readonly address: string;
  readonly url: string;
  /** PEM of the authority that signed the server's certificate. */
  readonly ca: string;
  /** A kubeconfig with a fresh client certificate. */
  kubeconfig(user: KubeconfigUser): Promise<string>;
  /** The same into a file that only its owner can read. */
  writeKubeconfig(path: string, user: KubeconfigUser): Promise<void>;
  close(): Promise<void>;
}

export const adminUser: KubeconfigUser = { user: "fairlead:admin", group: "system:masters" };
export const controlPlane: KubeconfigUser = { user: controlPlaneUser };

const defaultTimes: WatchTimes = { bookmarkMs: 20_000, maxMs: 30 * 60_000 };
/** Controllers, agents' tools and people of one machine are one client. */
const limits = { ...webLimits, maxConnections: 4000, maxPerClient: 1000 };
const expiryMs = 10 * 60_000;
const letters = "bcdfghjklmnpqrstvwxz2456789";

export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
  const authority = await openAuthority(options.dataDir, options.now);
  const store = createStore(openStoreFile(join(options.dataDir, "store.mdb")), options.log.scope("store"));
  try {
    const parts = createParts(options, store);
    await seed(parts, [
      ...bootstrapObjects,
      ...meshKinds.map((kind): KubeObject => crdFor(kind) as unknown as KubeObject),
    ]);
    const stopAggregation = aggregateRoles(store, options.log);
    const tokens = await openTokens(options.dataDir, store, options.now);
    let address = "";
    const other = createOtherPaths(parts.registry, parts.definitions, tokens, () => address);
    const { overload, watchTimes = defaultTimes } = options;
    overload?.onBegin((cause, message) => {
      void recordShortage(parts, cause, message);
      if (cause === "descriptors") return;
      parts.hub.forget();
      parts.snapshots.forget();
    });
    const metrics = createApiMetrics({
      ...{ ...parts, overload, restarts: options.restarts ?? 0 },
      waitingWrites: () => store.waiting,
    });
    const machine = machineMeter();
    const handle = createHandler({ ...parts, machine, tokens, other, metrics, watchTimes, overload });
    const listening = await listen(options, authority, handle, createUpgradeHandler({ ...parts, tokens, metrics }));
    const bound = listening.server.address() as AddressInfo;
    address = `${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}`;
    const expiry = setInterval(() => {
      expireEvents(store, options.now()).catch((error: unknown) =>
        options.log.warn(`old events: ${FairleadError.from(error).message}`),
      );
    }, expiryMs);
    expiry.unref();
    return running(listening, authority, address, () => {
      clearInterval(expiry);
      stopAggregation();
      metrics.close();
      return store.close();
    });
  } catch (error) {
    await store.close();
    throw error;
  }
}

const isUid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function createParts(options: ApiServerOptions, store: ReturnType<typeof createStore>): Parts {
  const definitions = createDefinitions();
  const registry = createKindRegistry(store);
  const watchdog = createWatchdog(options.log.scope("api"));
  const sockets = options.podDir === undefined ? undefined : openSocketFolder(options.podDir);
  return {
    podSocket: (uid) => (isUid.test(uid) ? sockets?.path(`${uid}.sock`) : undefined),
    store,
    authorizer: createAuthorizer(store),
    definitions,
    registry,
    shaper: createShaper(definitions, createCustomValidator()),
    hub: createWatchHub(store, historyFor(options)),
    watchLines: createWatchLines(),
    watchTurns: createTurnQueue(() => watchdog.begin("watches")),
    watchdog,
    snapshots: createSnapshots(options.now),
    admission: createWebhooks({
      store,
      registry,
      log: options.log.scope("admission"),
      ...(options.resolveService ? { resolveService: options.resolveService } : {}),
    }),
    now: options.now,
    randomText: (length) => [...randomBytes(length)].map((byte) => letters[byte % letters.length]).join(""),
    log: options.log,
  };
}

/** The past of each of some thirty kinds must leave most of the heap to what is there now. */
function historyFor({ historyLimit, overload }: ApiServerOptions): HistoryLimits {
  const { events, bytes, allBytes, ageMs } = historyLimits;
  const heapBytes = overload?.heap.limitBytes ?? allBytes * 16;
  return {
    ageMs,
    events: historyLimit ?? events,
    bytes: Math.min(bytes, heapBytes / 64),
    allBytes: Math.min(allBytes, heapBytes / 16),
  };
}

async function listen(
  options: ApiServerOptions,
  authority: Authority,
  handle: Handler,
  upgrade: UpgradeHandler,
): Promise<Listening> {
  const host = options.host ?? "127.0.0.1";
  const names = [
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    ...(options.names ?? []),
  ];
  const own = ["0.0.0.0", "::"].includes(host) ? [] : [host];
  const { certificate, key } = await authority.issueServer([...new Set([...names, ...own])]);
  const server = createSecureServer(
    {
      ...serverOptions(limits),
      allowHTTP1: true,
      cert: certificate,
      key,
      ca: authority.ca,
      minVersion: "TLSv1.2",
      // Certificates are asked for, and judged by `authenticate`: a token is as good.
      requestCert: true,
      rejectUnauthorized: false,
      settings: { maxConcurrentStreams: 250 },
    },
    (request, response) => {
      const socket = request.stream?.session?.socket ?? request.socket;
      void handle(request, response, connections.isRefused(socket));
    },
  );
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void upgrade(request, socket, head, connections.isRefused(request.socket));
  });
  const connections = guardConnections(server, limits, options.overload);
  guardRequests(server, limits);
  await listenOn(server, { host, port: options.port ?? 0 }, "choose another with --api-addr");
  return { server, connections };
}

interface Listening {
  readonly server: Http2SecureServer;
  readonly connections: Connections;
}

function running(
  { server, connections }: Listening,
  authority: Authority,
  address: string,
  closeStore: () => Promise<void>,
): ApiServer {
  const url = `https://${address}`;
  const kubeconfig = async ({ user, group }: KubeconfigUser): Promise<string> =>
    formatKubeconfig({ server: url, ca: authority.ca, user, credential: await authority.issueClient(user, group) });
  return {
    address,
    url,
    ca: authority.ca,
    kubeconfig,
    writeKubeconfig: async (path, user) => replaceSecretFile(path, await kubeconfig(user)),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.destroyAll();
      await closed;
      await closeStore();
    },
  };
}
