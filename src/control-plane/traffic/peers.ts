/**
 * The endpoints of this control plane's own Service in; what the agents of its other replicas have told them out. Each
 * replica knows the agents that are connected to it, and proves itself to the others by a certificate of the mesh's own CA.
 */
import { create } from "@bufbuild/protobuf";
import { controlPlaneService } from "../../ca/index.ts";
import { ReadAnswerSchema, ReadRequestSchema, TrafficService } from "../../gen/fairlead/traffic_pb.js";
import { FairleadError, type Logger, type ParseLimits, parseJson } from "../../lib/index.ts";
import { type Endpoint, type Identity, serviceKey } from "../../model/index.ts";
import {
  type Call,
  type ClientTls,
  createRpcClient,
  protoMethod,
  type Route,
  RpcError,
  status,
  unary,
} from "../../rpc/index.ts";
import { parseSnapshot, type TimeRange, type TrafficSnapshot, type TrafficView } from "../../traffic/index.ts";
import type { OwnCa } from "../trust/index.ts";

export interface Peers {
  /** Those of all that have answered; this one itself may be among them. */
  ask(range: TimeRange): Promise<PeerAnswers>;
}

export interface PeerAnswers {
  readonly snapshots: readonly TrafficSnapshot[];
  /** How many did not answer. */
  readonly silent: number;
}

export interface PeersOptions {
  readonly namespace: string;
  readonly revision: string;
  readonly domain: string;
  endpoints(serviceKey: string): readonly Endpoint[];
  /** Undefined where another signs the mesh's certificates: then no replica can prove itself, and none is asked. */
  readonly own: Pick<OwnCa, "authority" | "ownCredentials"> | undefined;
  readonly now: () => Date;
  readonly log: Logger;
}

const method = protoMethod(TrafficService.method.read);
const timeoutMs = 3000;
const maxPeers = 16;
const lifeMs = 3_600_000;
const answerLimits: ParseLimits = { maxBytes: 64 * 1024 * 1024, maxDepth: 16 };
/** Of the port for agents, as Istio's Service has it. */
const portName = "https-dns";

export function createPeers(options: PeersOptions): Peers {
  const { namespace, revision, domain, own, log } = options;
  const name = controlPlaneService(revision);
  const credentials = own && createCredentials(own, options);

  async function askOne(target: { readonly host: string; readonly port: number }, tls: ClientTls, range: TimeRange) {
    const client = createRpcClient({ target, tls: () => tls });
    try {
      const { lastMs, endedMsAgo = 0 } = range;
      const { json } = await client.unary(method, create(ReadRequestSchema, { lastMs, endedMsAgo }), { timeoutMs });
      return parseSnapshot(parseJson(json, answerLimits));
    } catch (error) {
      log.warn("another replica did not say what it knows of requests", {
        replica: `${target.host}:${target.port}`,
        cause: FairleadError.from(error).message,
      });
      return undefined;
    } finally {
      client.close();
    }
  }

  return {
    async ask(range) {
      const found = options
        .endpoints(serviceKey(namespace, `${name}.${namespace}.svc.${domain}`))
        .filter((endpoint) => endpoint.portName === portName)
        .slice(0, maxPeers);
      if (!credentials || found.length < 2) return { snapshots: [], silent: 0 };
      const tls = { ...(await credentials()), serverName: `${name}.${namespace}.svc` };
      const answers = await Promise.all(
        found.map(({ addresses: [host = ""], port }) => askOne({ host, port }, tls, range)),
      );
      const snapshots = answers.filter((answer) => answer !== undefined);
      return { snapshots, silent: answers.length - snapshots.length };
    },
  };
}

/** Renewed at half of its life. */
function createCredentials(
  { authority, ownCredentials }: NonNullable<PeersOptions["own"]>,
  { now }: PeersOptions,
): () => Promise<ClientTls> {
  let current: { readonly tls: ClientTls; readonly dueMs: number } | undefined;
  return async () => {
    const nowMs = now().getTime();
    if (!current || nowMs >= current.dueMs) {
      current = { tls: await ownCredentials("istiod", lifeMs), dueMs: nowMs + lifeMs / 2 };
    }
    return { ...current.tls, ca: authority.roots() };
  };
}

/** For the others: who is of the control plane's own namespace may read what this replica has been told. */
export function createReadRoute(
  view: TrafficView,
  authenticate: (call: Call) => Promise<Identity | undefined> | Identity | undefined,
  mayRead: (identity: Identity) => boolean,
): Route {
  return unary(method, async ({ lastMs, endedMsAgo }, call) => {
    const identity = await authenticate(call);
    if (!identity || !mayRead(identity))
      throw new RpcError(status.permissionDenied, "not a replica of this control plane");
    return create(ReadAnswerSchema, { json: JSON.stringify(await view.snapshot({ lastMs, endedMsAgo })) });
  });
}
