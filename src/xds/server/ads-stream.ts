/** One ADS stream: who calls is checked, then requests change its state and the pusher sends what follows from it. */
import { healthType } from "../../model/index.ts";
import { RpcError, status, type Take } from "../../rpc/index.ts";
import { checkIdentity, parseNode, proxyName } from "../node/node.ts";
import { takesVirtualHosts } from "../node/takes-hosts.ts";
import type { ProxyNode } from "../source.ts";
import type { Held } from "../stream/hold-back.ts";
import { createStreamState, type Response } from "../stream/stream-state.ts";
import { metricLabel, shortName } from "../type-info.ts";
import type { Proven } from "./ads-options.ts";
import type { AdsShared, AdsStream, Connection } from "./ads-shared.ts";
import type { Incoming } from "./incoming.ts";
import { createPace } from "./pace.ts";
import { createPusher } from "./pusher.ts";
import { receive } from "./receive.ts";

export async function serveStream(shared: AdsShared, stream: AdsStream): Promise<void> {
  const { options, limits } = shared;
  const proven = await stream.authenticate(stream.call);
  if (!options.ready()) throw new RpcError(status.unavailable, "the control plane has not read its objects yet");
  checkRoom(shared, stream);
  const ended = Promise.withResolvers<never>();
  const late = setTimeout(
    () => ended.reject(new RpcError(status.deadlineExceeded, "no request has come")),
    limits.firstRequestMs,
  );
  let proxy: Served | undefined;
  const requests = stream.requests((incoming) => {
    // Health reports may come before the proxy itself.
    if (!proxy && incoming.typeUrl === healthType) return undefined;
    clearTimeout(late);
    proxy ??= serveProxy(shared, stream, admit(shared, stream, incoming, proven), ended.reject);
    return proxy.receive(incoming);
  });
  try {
    await Promise.race([requests, ended.promise]);
  } finally {
    clearTimeout(late);
    proxy?.close();
  }
}

interface Caller {
  readonly proven: Proven | undefined;
  readonly node: ProxyNode;
}

function admit(shared: AdsShared, stream: AdsStream, first: Incoming, proven: Proven | undefined): Caller {
  // Others may have come in meanwhile.
  checkRoom(shared, stream);
  const node = parseNode(first.node);
  checkIdentity(node, proven?.identity);
  return { proven, node };
}

/** A proxy that is refused keeps what it has, and comes back later. */
function checkRoom({ connections, perClient, limits, options: { overload } }: AdsShared, { call }: AdsStream): void {
  const { client } = call.peer;
  if (client !== undefined && (perClient.get(client) ?? 0) >= limits.maxStreamsPerClient)
    throw new RpcError(status.resourceExhausted, "too many streams of one client");
  if (connections.size >= limits.maxStreams) throw new RpcError(status.resourceExhausted, "too many streams");
  if (!overload?.shortOfMemory) return;
  overload.refuse("stream", "memory");
  throw new RpcError(status.resourceExhausted, "the control plane is short of memory: try again later");
}

interface Served {
  readonly receive: Take<Incoming>;
  close(): void;
}

function serveProxy(
  shared: AdsShared,
  stream: AdsStream,
  { proven, node }: Caller,
  end: (reason: unknown) => void,
): Served {
  const { options, limits } = shared;
  const { call, variant } = stream;
  const identity = proven?.identity;
  const id = `${node.id.split("~")[2] ?? ""}-${shared.nextId()}`;
  const session = options.source.connect(node, identity, (news) => {
    state.changed(news);
    pusher.news();
  });
  const { versions, steps, pool } = shared;
  const onHeldBack = (held: Held): void => tellHeldBack(shared, id, held);
  const state = createStreamState({
    ...{ variant, session, versions, steps, pool, onHeldBack },
    ...(variant === "delta" && takesVirtualHosts(node)
      ? { hosts: { enabled: options.virtualHosts ?? false, apart: shared.apart } }
      : {}),
    times: { maxWaitMs: limits.holdBackMs, drainMs: limits.drainMs },
    clockMs: () => performance.now(),
  });
  const pusher = createPusher(shared, {
    ...{ state, variant, call, ready: session.ready },
    send: stream.send,
    onError: end,
    onSent: (response, bytes) => tellSent(shared, id, response, bytes),
  });
  const connection: Connection = {
    ...{ id, node, identity, variant, state, pod: proven?.pod },
    peer: call.peer.address,
    rejects: shared.rejects.open(proxyName(node)),
    connectedAt: options.now(),
    nameBytes: 0,
    longNames: 0,
    otherNonces: new Set(),
    ...{ refuses: false, hasRefused: false },
    close: end,
  };
  const due = createDue(session.ready, createPace(limits.requestsPerSecond, call.signal));
  let isClosed = false;
  const take = (incoming: Incoming): Promise<void> | undefined => {
    // It may have waited for longer than its stream was there.
    if (isClosed) return undefined;
    const answered = receive(shared, connection, stream, incoming);
    pusher.kick();
    return answered;
  };
  const recheck = setInterval(() => reauthenticate(stream, node).catch(end), limits.reauthenticateMs);
  shared.connections.set(id, connection);
  const client = call.peer.client ?? "";
  shared.perClient.set(client, (shared.perClient.get(client) ?? 0) + 1);
  const uncount = shared.perVersion.add(node.metadata.ISTIO_VERSION);
  options.log.info("new connection", { proxy: id, node: node.id, peer: connection.peer, variant });
  return {
    receive: (incoming) => due()?.then(() => take(incoming)) ?? take(incoming),
    close() {
      isClosed = true;
      clearInterval(recheck);
      pusher.stop();
      session.close();
      shared.moves.count++;
      shared.connections.delete(id);
      const left = (shared.perClient.get(client) ?? 1) - 1;
      if (left > 0) shared.perClient.set(client, left);
      else shared.perClient.delete(client);
      uncount();
      connection.rejects.close();
      options.log.info("connection ended", { proxy: id });
      if (connection.hasRefused) options.onRefusals?.();
    },
  };
}

/**
 * When the next request may be taken; undefined for at once. What a proxy says to hold is compared with what its class
 * has: asked for before it is made, that would be made in one go.
 */
function createDue(
  ready: Promise<void> | undefined,
  pace: () => Promise<void> | undefined,
): () => Promise<unknown> | undefined {
  let making = ready;
  const made = (): void => {
    making = undefined;
  };
  making?.then(made, made);
  return () => {
    const paced = pace();
    return making ? Promise.all([paced, making]) : paced;
  };
}

/** A token may expire and a workload may go while its stream lives. */
async function reauthenticate(stream: AdsStream, node: ProxyNode): Promise<void> {
  checkIdentity(node, (await stream.authenticate(stream.call))?.identity);
}

function tellSent({ options: { log } }: AdsShared, proxy: string, response: Response, bytes: number): void {
  if (!log.isDebug()) return;
  const { type, resources, removed, nonce } = response;
  log.debug("response sent", {
    ...{ proxy, type: shortName(type), resources: resources.length, removed: removed.length, bytes, nonce },
  });
}

function tellHeldBack(shared: AdsShared, proxy: string, held: Held): void {
  const type = shortName(held.type);
  shared.metrics.count("fairlead_xds_held_back", metricLabel(held.type));
  const { name, clusters } = held;
  const fields = { proxy, type, name, cluster: clusters[0], clusters: clusters.length };
  shared.options.log.warn("held back: the proxy has not accepted a cluster that this names", fields);
}
