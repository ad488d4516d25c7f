/** Routes in, a gRPC server on node:http2 out: plaintext, TLS or a unix socket, bounded, drained on shutdown. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import {
  createInflow,
  FairleadError,
  type ListenAddress,
  type Logger,
  listenOn,
  type Overload,
  type Watchdog,
} from "../lib/index.ts";
import { callOver, createCall, type WireCall } from "./call.ts";
import { createFramer } from "./frame.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import type { Route } from "./route.ts";
import { createSessions, type Session } from "./sessions.ts";
import { RpcError, type Status, status, statusNames, toRpcError } from "./status.ts";
import { createTransport, type ServerTls, secureContext } from "./transport.ts";

export interface RpcServerOptions {
  readonly routes: readonly Route[];
  readonly tls?: ServerTls;
  readonly limits?: Partial<Limits>;
  readonly log: Logger;
  readonly random?: () => number;
  /** Says when descriptors run out: calls on new connections are then refused. */
  readonly overload?: Overload | undefined;
  /** Told of each message, so that it can name one that holds up all others. */
  readonly watchdog?: Watchdog | undefined;
  /** Told of each connection, request and call that is refused: by why, which is one of few words and never a client's. */
  readonly onRefused?: (reason: string) => void;
}

export interface RpcServer {
  /** Resolves with the bound address; a busy port is a FairleadError `port-in-use`. */
  listen(address: ListenAddress): Promise<{ readonly host: string; readonly port: number }>;
  /** New connections get the new certificate; those that live are untouched. */
  setTls(tls: ServerTls): void;
  /** Open connections and calls. */
  load(): { readonly connections: number; readonly calls: number };
  /** Stops accepting, tells clients to go (spread over the time), then closes what is left. */
  close(options?: { graceMs?: number }): Promise<void>;
}

export function createRpcServer(options: RpcServerOptions): RpcServer {
  const limits = { ...defaultLimits, ...options.limits };
  const routes = new Map(options.routes.map((route) => [route.path, route]));
  const server = createTransport(options.tls, limits);
  const inflow = createInflow(limits.maxInflowBytes);
  const framed = createFramer();
  const onRefused = options.onRefused ?? (() => {});
  const sessions = createSessions(server, {
    limits,
    random: options.random ?? Math.random,
    log: options.log,
    overload: options.overload,
    onRefused,
  });

  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on("error", (error) => options.log.debug("stream ended", { cause: error.message }));
    const refusal = notGrpc(headers);
    const session = sessions.get(stream.session);
    if (refusal !== undefined) {
      onRefused("NotGrpc");
      stream.respond({ ":status": refusal }, { endStream: true });
    } else if (!session) stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else if (session.isRefused) {
      onRefused(nameOf(status.resourceExhausted));
      refuse(stream, new RpcError(status.resourceExhausted, "this server has no room for more connections"));
      stream.session?.close();
    } else void serve(stream, headers, session);
  });

  async function serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, session: Session): Promise<void> {
    let call: WireCall | undefined;
    try {
      call = createCall(stream, headers, session.peer, { ...limits, watchdog: options.watchdog, inflow, framed });
      session.calls.add(call);
      const route = routes.get(call.path);
      if (!route) throw new RpcError(status.unimplemented, "unknown service or method");
      await route.serve(call);
      call.finish(status.ok);
    } catch (thrown) {
      // A call that is over already was ended by its client, or with its connection.
      const isOver = call?.signal.aborted === true;
      const error = toRpcError(isOver ? call?.signal.reason : thrown);
      if (!isOver && error.status !== status.cancelled) onRefused(nameOf(error.status));
      if (error.status === status.internal)
        options.log.error("call failed", { path: call?.path, cause: String(thrown) });
      if (call) call.finish(error.status, error.message);
      else refuse(stream, error);
    } finally {
      if (call) session.calls.delete(call);
      call?.abort(callOver);
    }
  }

  return {
    listen: (address) => listenOn(server, address),
    setTls(tls) {
      if (!("setSecureContext" in server)) throw new FairleadError("internal", "the server was made without TLS");
      server.setSecureContext(secureContext(tls));
    },
    load: sessions.load,
    async close({ graceMs = 0 } = {}) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await sessions.close(graceMs);
      await closed;
    },
  };
}

const nameOf = (code: Status): string => statusNames.get(code) ?? "Unknown";

function notGrpc(headers: IncomingHttpHeaders): number | undefined {
  if (headers[":method"] !== "POST") return 405;
  return /^application\/grpc($|[+;])/.test(headers["content-type"] ?? "") ? undefined : 415;
}

function refuse(stream: ServerHttp2Stream, error: RpcError): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond(
    {
      ":status": 200,
      "content-type": "application/grpc",
      "grpc-status": String(error.status),
      "grpc-message": error.message,
    },
    { endStream: true },
  );
  stream.close(constants.NGHTTP2_NO_ERROR);
}
