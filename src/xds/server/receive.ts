/** One request in: the stream's state is changed, a NACK or a stale nonce counted, a question of another type answered. */
import { dropOldest } from "../../lib/index.ts";
import { healthType, types } from "../../model/index.ts";
import { RpcError, status } from "../../rpc/index.ts";
import type { XdsReject } from "../metrics.ts";
import type { Received } from "../stream/request.ts";
import { metricLabel, shortName, virtualHostType, type WireType, wireType } from "../type-info.ts";
import type { AdsShared, AdsStream, Connection } from "./ads-shared.ts";
import type { Incoming } from "./incoming.ts";
import { checkLongNames, lengthsOf, maxLongNames, measureNames } from "./name-lengths.ts";

const unknownType = { reason: "UnknownType" };

export function receive(
  shared: AdsShared,
  connection: Connection,
  stream: AdsStream,
  incoming: Incoming,
): Promise<void> | undefined {
  if (incoming.typeUrl === healthType) {
    shared.options.onHealth?.(connection.node, incoming.error);
    return undefined;
  }
  const type = wireType(incoming.typeUrl);
  if (!type) {
    if (shared.options.other?.handles(incoming.typeUrl)) return answerOther(shared, connection, stream, incoming);
    shared.metrics.count("fairlead_xds_refused_total", unknownType);
    return undefined;
  }
  const received = incoming.receive(connection.state, type, performance.now());
  shared.moves.count++;
  if (shared.options.log.isDebug()) tell(shared, connection, type, incoming, received);
  if (received.event === "stale" || received.event === "nack") count(shared, connection, type, incoming, received);
  if (received.event === "nack" || (received.event === "ack" && connection.refuses)) noteRefusals(shared, connection);
  if (received.dirty) checkNames(shared, connection, type, incoming);
  return undefined;
}

function tell(
  { options }: AdsShared,
  { id: proxy }: Connection,
  type: WireType,
  { nonce, names }: Incoming,
  { event }: Received,
): void {
  options.log.debug("request", { proxy, type: shortName(type), event, names: names.length, nonce });
}

function noteRefusals({ options }: AdsShared, connection: Connection): void {
  connection.refuses = connection.state.states().some((state) => state.refuses);
  connection.hasRefused = true;
  options.onRefusals?.();
}

/** One request is bounded by its size; many of them together are not. */
function checkNames({ limits }: AdsShared, connection: Connection, type: WireType, { names }: Incoming): void {
  const { state } = connection;
  const subscribed = state.states().find((one) => one.type === type)?.names.size ?? 0;
  if (subscribed > limits.maxNames)
    throw new RpcError(status.resourceExhausted, `more than ${limits.maxNames} names of ${shortName(type)}`);
  const { total, long } = lengthsOf(names);
  connection.nameBytes += total;
  connection.longNames += long;
  if (connection.nameBytes <= limits.maxNameBytes && connection.longNames <= maxLongNames) return;
  // Some were asked for twice, or are no longer: only now is it worth it to look.
  const held = [...state.states().map((one) => measureNames(one.names))];
  connection.nameBytes = held.reduce((sum, one) => sum + one.total, 0);
  connection.longNames = held.reduce((sum, one) => sum + one.long, 0);
  checkLongNames(connection.longNames);
  if (connection.nameBytes > limits.maxNameBytes)
    throw new RpcError(status.resourceExhausted, `names of more than ${limits.maxNameBytes} bytes`);
}

const rejects = new Map<WireType, XdsReject>([
  [types.cluster, "pilot_xds_cds_reject"],
  [types.endpoint, "pilot_xds_eds_reject"],
  [types.listener, "pilot_xds_lds_reject"],
  [types.route, "pilot_xds_rds_reject"],
  // istiod sends them as a part of routes only.
  [virtualHostType, "pilot_xds_rds_reject"],
]);

function count(
  shared: AdsShared,
  connection: Connection,
  type: WireType,
  incoming: Incoming,
  received: Received,
): void {
  const short = shortName(type);
  const label = metricLabel(type);
  if (received.event === "stale") shared.metrics.count("pilot_xds_expired_nonce", label);
  if (received.event !== "nack") return;
  const own = rejects.get(type);
  if (own) connection.rejects.count(own, incoming.errorCode);
  shared.metrics.count("pilot_total_xds_rejects", label);
  shared.options.log.warn("the proxy refused a response", { proxy: connection.id, type: short, cause: incoming.error });
}

/** A request with the nonce of an answer acknowledges it; istioctl puts some other nonce into its questions. */
async function answerOther(
  shared: AdsShared,
  connection: Connection,
  stream: AdsStream,
  incoming: Incoming,
): Promise<void> {
  if (connection.otherNonces.has(incoming.nonce) || incoming.error !== undefined) return;
  const { node, identity, variant } = connection;
  const { typeUrl, names } = incoming;
  const resources = await shared.options.other?.answer({ typeUrl, names, node, identity, call: stream.call });
  if (!resources) return;
  const version = shared.versions.next();
  remember(connection.otherNonces, version.nonce);
  await stream.send(shared.encode(variant, { type: typeUrl, ...version, resources, removed: [] }));
}

/** Acknowledgements come soon, so a few nonces are enough. */
const maxNonces = 16;

function remember(nonces: Set<string>, nonce: string): void {
  nonces.add(nonce);
  dropOldest(nonces, maxNonces);
}
