/**
 * One simulated Envoy on one ADS stream: wildcard clusters and listeners, then endpoints and routes that these name, an
 * ACK for every response; virtual hosts on their own where a route asks for them. What it receives is told, not kept.
 */
import { createHash } from "node:crypto";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "../../src/gen/envoy/config/core/v3/base_pb.js";
import { ListenerSchema } from "../../src/gen/envoy/config/listener/v3/listener_pb.js";
import { HttpConnectionManagerSchema } from "../../src/gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { types } from "../../src/model/index.ts";
import { type ClientTls, createRpcClient, type Method, type Payload, rawCodec } from "../../src/rpc/index.ts";
import { bytesOf, field, fields, numberField, textOf } from "./wire.ts";

export type Mode = "delta" | "sotw";

export interface LoadShape {
  readonly namespaces: number;
  /** Different deployments, each with labels and account of its own; 0: one for each namespace. */
  readonly deployments: number;
  readonly mode: Mode;
  /** What the node tells; a newer one may be sent virtual hosts on their own. */
  readonly envoyVersion: string;
  /** That of the deployments; v1 where absent. Each has deployments of its own. */
  readonly version?: string;
}

export interface LoadProxy {
  readonly namespace: string;
  readonly account: string;
  readonly node: Uint8Array;
}

const virtualHosts = "type.googleapis.com/envoy.config.route.v3.VirtualHost";
const service = "/envoy.service.discovery.v3.AggregatedDiscoveryService";

/** The same proxies as xdsload has, by their number. */
export function loadProxy(index: number, shape: LoadShape): LoadProxy {
  const { namespaces, deployments, version = "v1" } = shape;
  const own = deployments > 0;
  const namespace = `ns-${(own ? index % deployments : index) % namespaces}`;
  const app = own ? `svc-${index % deployments}` : `load-${index % namespaces}`;
  const account = own ? app : "default";
  const name = `load-${index}`;
  const ip = `10.${64 + Math.floor(index / 65025)}.${Math.floor(index / 255) % 255}.${(index % 255) + 1}`;
  const canonical = {
    "pod-template-hash": (index % Math.max(1, deployments)).toString(16).padStart(8, "0"),
    "service.istio.io/canonical-name": app,
    "service.istio.io/canonical-revision": version,
  };
  const metadata = {
    NAMESPACE: namespace,
    CLUSTER_ID: "Kubernetes",
    ISTIO_VERSION: "1.28.0",
    SERVICE_ACCOUNT: account,
    MESH_ID: "cluster.local",
    INTERCEPTION_MODE: "REDIRECT",
    INSTANCE_IPS: ip,
    NAME: name,
    WORKLOAD_NAME: app,
    LABELS: { app, version, ...(own ? canonical : {}) },
  };
  const node = create(NodeSchema, {
    id: `sidecar~${ip}~${name}.${namespace}~${namespace}.svc.cluster.local`,
    cluster: `${app}.${namespace}`,
    metadata,
  });
  return { namespace, account, node: Buffer.concat([toBinary(NodeSchema, node), agent(shape.envoyVersion)]) };
}

/** `user_agent_name` and the version behind it, by hand: both are fields of the node. */
function agent(version: string): Buffer {
  if (version === "") return Buffer.alloc(0);
  const parts = version.split(".").map((part, at) => numberField(at + 1, Number(part)));
  return Buffer.concat([field(6, "envoy"), field(8, field(1, Buffer.concat(parts)))]);
}

export interface ProxyEvents {
  onMessage(message: Uint8Array): void;
  /** Once, when clusters, endpoints, listeners and routes have all come. */
  onWarm(): void;
}

export interface ProxyTarget {
  readonly host: string;
  readonly port: number;
  readonly tls?: ClientTls;
}

/** Ends when the stream does. */
export async function runProxy(
  target: ProxyTarget,
  mode: Mode,
  { node }: LoadProxy,
  events: ProxyEvents,
  signal: AbortSignal,
): Promise<void> {
  const { tls } = target;
  const rpc = createRpcClient({ target: { host: target.host, port: target.port }, ...(tls ? { tls: () => tls } : {}) });
  const method: Method<Payload, Payload> = {
    path: `${service}/${mode === "delta" ? "Delta" : "Stream"}AggregatedResources`,
    request: rawCodec,
    response: rawCodec,
  };
  try {
    const stream = await rpc.stream(method, { signal });
    const follow = createFollower(mode, node, (request) => void stream.send([request]).catch(() => {}));
    follow.start();
    for await (const [message = new Uint8Array(0)] of stream.messages) {
      events.onMessage(message);
      if (follow.receive(message)) events.onWarm();
    }
  } finally {
    rpc.close();
  }
}

interface Follower {
  start(): void;
  /** True for the response that makes the proxy warm. */
  receive(message: Uint8Array): boolean;
}

function createFollower(mode: Mode, node: Uint8Array, send: (request: Buffer) => void): Follower {
  const asked = new Map<string, Set<string>>([
    [types.endpoint, new Set()],
    [types.route, new Set()],
  ]);
  const versions = new Map<string, string>();
  const missing = new Set<string>([types.cluster, types.endpoint, types.listener, types.route]);
  let asksHosts = false;
  const names = (of: Iterable<string>): Buffer => Buffer.concat([...of].map((name) => field(3, name)));
  const request = (type: string, nonce: string, subscribe: Iterable<string>, first = false): void => {
    const head = first ? [field(mode === "delta" ? 1 : 2, node)] : [];
    send(
      mode === "delta"
        ? Buffer.concat([...head, field(2, type), names(subscribe), field(6, nonce)])
        : Buffer.concat([
            field(1, versions.get(type) ?? ""),
            ...head,
            names(asked.get(type) ?? []),
            field(4, type),
            field(5, nonce),
          ]),
    );
  };
  const follow = (type: string, found: readonly string[]): void => {
    const known = asked.get(type) ?? new Set();
    const added = found.filter((name) => !known.has(name));
    for (const name of added) known.add(name);
    if (added.length > 0) request(type, "", added);
    if (known.size === 0) missing.delete(type);
  };
  return {
    start() {
      request(types.cluster, "", [], true);
      request(types.listener, "", []);
    },
    receive(message) {
      const { type, nonce, version, resources } = readResponse(message, mode);
      versions.set(type, version);
      request(type, nonce, []);
      const wasWarm = missing.size === 0;
      missing.delete(type);
      if (type === types.cluster) follow(types.endpoint, resources.flatMap(assignmentName));
      if (type === types.listener) follow(types.route, resources.flatMap(routeNames));
      if (type === types.route && mode === "delta" && !asksHosts && resources.some(asksForHosts)) {
        asksHosts = true;
        request(virtualHosts, "", []);
      }
      return !wasWarm && missing.size === 0;
    },
  };
}

interface Response {
  readonly type: string;
  readonly nonce: string;
  readonly version: string;
  readonly resources: readonly Uint8Array[];
}

function readResponse(message: Uint8Array, mode: Mode): Response {
  let [type, nonce, version] = ["", "", ""];
  const resources: Uint8Array[] = [];
  for (const { number, bytes } of fields(message)) {
    if (number === 1) version = textOf(bytes);
    if (number === 4) type = textOf(bytes);
    if (number === 5) nonce = textOf(bytes);
    if (number !== 2) continue;
    const any = mode === "delta" ? bytesOf(bytes, 2) : bytes;
    resources.push((any && bytesOf(any, 2)) ?? new Uint8Array(0));
  }
  return { type, nonce, version, resources };
}

const edsType = 3;

function assignmentName(cluster: Uint8Array): readonly string[] {
  let [name, serviceName, isEds] = ["", "", false];
  for (const { number, bytes, value } of fields(cluster)) {
    if (number === 1) name = textOf(bytes);
    if (number === 2) isEds = value === edsType;
    if (number === 3) serviceName = textOf(bytesOf(bytes, 2));
  }
  return isEds ? [serviceName || name] : [];
}

const vhdsField = 9;

const asksForHosts = (route: Uint8Array): boolean => fields(route).some(({ number }) => number === vhdsField);

/** Read once per content: proxies have mostly the same listeners. */
const knownRoutes = new Map<string, readonly string[]>();

function routeNames(listener: Uint8Array): readonly string[] {
  const key = createHash("md5").update(listener).digest("base64");
  const known = knownRoutes.get(key) ?? readRouteNames(listener);
  knownRoutes.set(key, known);
  return known;
}

function readRouteNames(bytes: Uint8Array): readonly string[] {
  const { filterChains, defaultFilterChain } = fromBinary(ListenerSchema, bytes);
  const configs = [...filterChains, ...(defaultFilterChain ? [defaultFilterChain] : [])]
    .flatMap(({ filters }) => filters)
    .flatMap(({ configType }) => (configType.case === "typedConfig" ? [configType.value] : []));
  return configs
    .filter(({ typeUrl }) => typeUrl.endsWith(HttpConnectionManagerSchema.typeName))
    .map(({ value }) => fromBinary(HttpConnectionManagerSchema, value).routeSpecifier)
    .flatMap((specifier) => (specifier.case === "rds" ? [specifier.value.routeConfigName] : []));
}
