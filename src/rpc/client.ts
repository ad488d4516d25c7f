/** A target in, typed calls out: a gRPC client on node:http2 that connects when asked and again after a loss. */
import http2, { type ClientHttp2Session } from "node:http2";
import { connect as connectSocket, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { watchSessions } from "../lib/index.ts";
import { type CallOptions, type ClientStream, openStream } from "./client-stream.ts";
import { defaultLimits } from "./limits.ts";
import type { Method } from "./method.ts";
import { checkServerNames } from "./server-trust.ts";
import { RpcError, status } from "./status.ts";

export interface ClientTls {
  /** Roots that the server's certificate must chain to. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
  /** For a port-forward whose name cannot match, as istioctl does. */
  readonly insecure?: boolean;
}

export interface RpcClientOptions {
  readonly target: { readonly host: string; readonly port: number } | { readonly path: string };
  /** Asked at each connect, so that a renewed certificate is used without a new client. */
  readonly tls?: () => ClientTls;
  readonly authority?: string;
  /** Headers of every call, such as a bearer token read anew each time. */
  readonly metadata?: () => Promise<Readonly<Record<string, string>>>;
  readonly maxMessageBytes?: number;
  readonly keepaliveMs?: number;
  /** For the connection and its TLS: whoever accepts and says nothing is left again. */
  readonly connectMs?: number;
}

export interface RpcClient {
  unary<I, O>(method: Method<I, O>, request: I, options?: CallOptions): Promise<O>;
  stream<I, O>(method: Method<I, O>, options?: CallOptions): Promise<ClientStream<I, O>>;
  close(): void;
}

/** Responses may be far larger than requests: a whole mesh's clusters in one message. */
const maxResponseBytes = 256 * 1024 * 1024;

export function createRpcClient(options: RpcClientOptions): RpcClient {
  let current: ClientHttp2Session | undefined;
  let closed = false;

  function session(): ClientHttp2Session {
    if (closed) throw new RpcError(status.cancelled, "the client is closed");
    if (current && !current.closed && !current.destroyed) return current;
    const made = connect(options);
    const forget = (): void => {
      if (current === made) current = undefined;
    };
    made.once("close", forget);
    made.once("goaway", forget);
    current = made;
    return made;
  }

  async function stream<I, O>(method: Method<I, O>, call: CallOptions = {}): Promise<ClientStream<I, O>> {
    const metadata = { ...(await options.metadata?.()), ...call.metadata };
    return openStream(session(), method, {
      ...call,
      metadata,
      server: authorityOf(options.target),
      maxMessageBytes: options.maxMessageBytes ?? maxResponseBytes,
    });
  }

  return {
    stream,
    async unary(method, request, call) {
      const opened = await stream(method, call);
      // A server may refuse before it has read all, so its answer is awaited at once; a failed send shows there too.
      opened.send(request).then(opened.end, () => {});
      let answer: { value: Awaited<ReturnType<typeof method.response.decode>> } | undefined;
      for await (const value of opened.messages) answer ??= { value };
      if (!answer) throw new RpcError(status.internal, "the server sent no message");
      return answer.value;
    },
    close() {
      closed = true;
      current?.destroy();
    },
  };
}

function connect(options: RpcClientOptions): ClientHttp2Session {
  const { target } = options;
  const tls = options.tls?.();
  const session = http2.connect(`${tls ? "https" : "http"}://${options.authority ?? authorityOf(target)}`, {
    createConnection: () => (tls ? connectTls(tlsOptions(target, tls)) : plain(target)),
    settings: { enablePush: false, initialWindowSize: 1024 * 1024 },
  });
  // Each stream hears of the loss by itself.
  session.on("error", () => {});
  const connectMs = options.connectMs ?? defaultLimits.handshakeMs;
  const connecting = setTimeout(() => session.destroy(new Error(`no connection within ${connectMs} ms`)), connectMs);
  session.once("close", () => clearTimeout(connecting));
  session.once("connect", () => {
    clearTimeout(connecting);
    // Closed while it was connecting: node tells of the connection all the same.
    if (session.destroyed) return;
    session.setLocalWindowSize(4 * 1024 * 1024);
    watchSessions({ ...defaultLimits, keepaliveMs: options.keepaliveMs ?? defaultLimits.keepaliveMs })(session);
  });
  return session;
}

function authorityOf(target: RpcClientOptions["target"]): string {
  if ("path" in target) return "localhost";
  return `${target.host.includes(":") ? `[${target.host}]` : target.host}:${target.port}`;
}

const plain = (target: RpcClientOptions["target"]): Socket =>
  "path" in target ? connectSocket({ path: target.path }) : connectSocket({ host: target.host, port: target.port });

function tlsOptions(target: RpcClientOptions["target"], tls: ClientTls): ConnectionOptions {
  const host = "path" in target ? "localhost" : target.host;
  return {
    ...("path" in target ? { path: target.path } : { host: target.host, port: target.port }),
    ALPNProtocols: ["h2"],
    minVersion: "TLSv1.2",
    servername: tls.serverName ?? (/^[0-9.]+$|:/.test(host) ? "" : host),
    rejectUnauthorized: tls.insecure !== true,
    checkServerIdentity: checkServerNames,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined || tls.key === undefined ? {} : { cert: tls.cert, key: tls.key }),
  };
}
