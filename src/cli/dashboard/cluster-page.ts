/** How to reach a cluster in; a link to its mesh's page, which is served here for as long as the command runs, out. */
import { randomBytes } from "node:crypto";
import { Agent, type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { applyObjects } from "../../control-plane/index.ts";
import { type ApplyQuestion, createRelay, oneTimeToken, type RelayedRequest } from "../../dashboard/index.ts";
import { type ClusterAccess, createKubeClient, forwardPort, type KubeClient, kubeKinds } from "../../kube/index.ts";
import { FairleadError, readRecord, silentLogger } from "../../lib/index.ts";
import { createHttpServer } from "../../ops/index.ts";
import { type ClusterCredentials, clusterCredentials } from "./cluster-credentials.ts";

export interface ClusterPageOptions {
  readonly access: ClusterAccess;
  /** Of the control plane. */
  readonly namespace: string;
  readonly address: { readonly host: string; readonly port: number };
  /** Whether the page may apply objects, with what the API is reached with. */
  readonly edit: boolean;
  readonly signal: AbortSignal;
}

export interface ClusterPage {
  readonly link: string;
  close(): Promise<void>;
}

/** Where control planes have their page. */
const pagePort = 15015;
const maxConnections = 64;

export async function serveClusterPage(options: ClusterPageOptions): Promise<ClusterPage> {
  const client = createKubeClient(options.access);
  const agent = podAgent(options, client);
  const credentials = await clusterCredentials(options.access, client);
  const secret = randomBytes(32);
  const nowMs = (): number => Date.now();
  const apply = options.edit ? { apply: (question: ApplyQuestion) => applyObjects(client, question) } : {};
  const relay = createRelay({ secret, nowMs, forward: createForward(agent, credentials), ...apply });
  const end = async (): Promise<void> => {
    agent.destroy();
    await credentials.end().catch(() => {});
    client.close();
  };
  try {
    // Whether there is a page at all is known before a browser is opened.
    await findPod(client, options.namespace);
    const server = await createHttpServer({
      address: options.address,
      routes: new Map([["/", relay]]),
      log: silentLogger,
    });
    const { host, port } = server.address;
    return {
      link: `http://${host}:${port}/#token=${oneTimeToken(secret, nowMs())}`,
      async close() {
        await server.close();
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

async function findPod(client: KubeClient, namespace: string): Promise<string> {
  const { items } = await client.list(kubeKinds.pods, { namespace, labelSelector: "app=istiod" });
  const found = items.find(({ status }) => readRecord(status).phase === "Running");
  if (found) return found.metadata.name;
  throw new FairleadError("not-found", `no control plane runs in namespace ${namespace}`, {
    hint: "a Pod with label app=istiod is looked for; -i names another namespace",
  });
}

/** Connections are made through the API, each to a Pod that runs then, and kept for the next question. */
function podAgent({ access, namespace, signal }: ClusterPageOptions, client: KubeClient): Agent {
  const connect = async (): Promise<Duplex> =>
    forwardPort(access, { name: await findPod(client, namespace), namespace, port: pagePort }, signal);
  return Object.assign(new Agent({ keepAlive: true, maxSockets: maxConnections }), {
    createConnection(_: unknown, done: (error: Error | null, stream?: Duplex) => void) {
      connect().then(
        (stream) => done(null, stream),
        (error: unknown) => done(FairleadError.from(error)),
      );
      return undefined;
    },
    // Those of sockets have no meaning for a stream within another connection.
    keepSocketAlive: () => true,
    reuseSocket: () => {},
  });
}

function createForward(agent: Agent, credentials: ClusterCredentials) {
  const send = async (asked: RelayedRequest, refused: boolean, signal: AbortSignal): Promise<IncomingMessage> => {
    const bearer = asked.isOwn ? await credentials.bearer(refused) : "";
    return ask(agent, asked, bearer, signal);
  };
  return async (asked: RelayedRequest, signal: AbortSignal): Promise<IncomingMessage> => {
    const first = await send(asked, false, signal).catch((error: unknown) => {
      // A kept connection may have ended meanwhile; what changes nothing is asked again.
      if (asked.method !== "GET" || signal.aborted) throw error;
      return send(asked, false, signal);
    });
    if (first.statusCode !== 401 || !asked.isOwn) return first;
    first.resume();
    return send(asked, true, signal);
  };
}

function ask(agent: Agent, asked: RelayedRequest, bearer: string, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { method, path, body, type } = asked;
    const headers = {
      host: "localhost",
      ...(bearer === "" ? {} : { authorization: `Bearer ${bearer}` }),
      ...(body === "" ? {} : { "content-type": type, "content-length": String(Buffer.byteLength(body)) }),
    };
    const sent = request({ agent, method, path, headers, signal });
    sent.on("error", reject).on("response", resolve);
    sent.end(body);
  });
}
