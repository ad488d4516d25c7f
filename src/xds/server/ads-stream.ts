/** One ADS stream: who calls is checked, then requests change its state and the pusher sends what follows from it. */
import type { Identity } from "../../model/index.ts";
import { RpcError, status } from "../../rpc/index.ts";
import { checkIdentity, parseNode } from "../node/node.ts";
import { takesVirtualHosts } from "../node/takes-hosts.ts";
import type { ProxyNode } from "../source.ts";
import type { Held } from "../stream/hold-back.ts";
import { createStreamState } from "../stream/stream-state.ts";
import { shortName } from "../type-info.ts";
import type { AdsShared, AdsStream, Connection } from "./ads-shared.ts";
import { firstRequest, nextRequest } from "./first-request.ts";
import type { Incoming } from "./incoming.ts";
import { createPace } from "./pace.ts";
import { createPusher } from "./pusher.ts";
import { receive } from "./receive.ts";

interface Caller {
  readonly identity: Identity | undefined;
  readonly node: ProxyNode;
  readonly first: Incoming;
}

export async function serveStream(shared: AdsShared, stream: AdsStream): Promise<void> {
  const caller = await admit(shared, stream);
  if (caller) await run(shared, stream, caller);
}

/** Undefined where the client left without asking. */
async function admit(shared: AdsShared, stream: AdsStream): Promise<Caller | undefined> {
  const { options, limits } = shared;
  const identity = await stream.authenticate(stream.call);
  if (!options.ready()) throw new RpcError(status.unavailable, "the control plane has not read its objects yet");
  checkRoom(shared);
  const first = await firstRequest(stream.requests, limits.firstRequestMs, stream.call.signal);
  if (!first) return undefined;
  // Others may have come in meanwhile.
  checkRoom(shared);
  const node = parseNode(first.node);
  checkIdentity(node, identity);
  return { identity, node, first };
}

/** A proxy that is refused keeps what it has, and comes back later. */
function checkRoom({ connections, limits, options: { overload } }: AdsShared): void {
  if (connections.size >= limits.maxStreams) throw new RpcError(status.resourceExhausted, "too many streams");
  if (!overload?.shortOfMemory) return;
  overload.refuse("stream", "memory");
  throw new RpcError(status.resourceExhausted, "the control plane is short of memory: try again later");
}

async function run(shared: AdsShared, stream: AdsStream, { identity, node, first }: Caller): Promise<void> {
  const { options, limits } = shared;
  const { call, variant } = stream;
  const id = `${node.id.split("~")[2] ?? ""}-${shared.nextId()}`;
  const ended = Promise.withResolvers<never>();
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
  });
  const pusher = createPusher(shared, {
    ...{ state, variant, call, ready: session.ready },
    send: stream.send,
    onError: ended.reject,
  });
  const connection: Connection = {
    ...{ id, node, identity, variant, state },
    peer: call.peer.address,
    connectedAt: options.now(),
    otherNonces: new Set(),
    close: ended.reject,
  };

  async function read(): Promise<void> {
    const pace = createPace(limits.requestsPerSecond, call.signal);
    for (let incoming: Incoming | undefined = first; incoming; incoming = await nextRequest(stream.requests)) {
      await pace();
      await receive(shared, connection, stream, incoming);
      pusher.kick();
    }
  }

  const recheck = setInterval(() => reauthenticate(stream, node).catch(ended.reject), limits.reauthenticateMs);
  shared.connections.set(id, connection);
  shared.metrics.set("pilot_xds", shared.connections.size);
  options.log.info("new connection", { proxy: id, node: node.id, peer: connection.peer, variant });
  try {
    await Promise.race([read(), ended.promise]);
  } finally {
    clearInterval(recheck);
    pusher.stop();
    session.close();
    shared.connections.delete(id);
    shared.metrics.set("pilot_xds", shared.connections.size);
    options.log.info("connection ended", { proxy: id });
  }
}

/** A token may expire and a workload may go while its stream lives. */
async function reauthenticate(stream: AdsStream, node: ProxyNode): Promise<void> {
  checkIdentity(node, await stream.authenticate(stream.call));
}

function tellHeldBack(shared: AdsShared, proxy: string, held: Held): void {
  const type = shortName(held.type);
  shared.metrics.count("fairlead_xds_held_back", { type: type.toLowerCase() });
  const { name, clusters } = held;
  const fields = { proxy, type, name, cluster: clusters[0], clusters: clusters.length };
  shared.options.log.warn("held back: the proxy has not accepted a cluster that this names", fields);
}
