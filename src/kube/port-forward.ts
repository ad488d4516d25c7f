/** A Pod and one of its ports in; a connection to that port, carried by the API as `kubectl port-forward` does, out. */
import { randomBytes } from "node:crypto";
import { request as httpsRequest } from "node:https";
import { Duplex } from "node:stream";
import {
  type ByteTransport,
  collectBytes,
  FairleadError,
  openWebSocket,
  parseJson,
  socketTransport,
} from "../lib/index.ts";
import { objectPath } from "./kind.ts";
import { kubeKinds } from "./kinds.ts";
import type { ClusterAccess } from "./kubeconfig.ts";
import { statusError } from "./status.ts";

/** One byte in front of each message says which stream it is of; each begins with the number of the port. */
const protocol = "v4.channel.k8s.io";
const [dataChannel, errorChannel] = [0, 1];
const portBytes = 2;

export interface ForwardedPort {
  readonly name: string;
  readonly namespace: string;
  readonly port: number;
}

export async function forwardPort(access: ClusterAccess, to: ForwardedPort, signal: AbortSignal): Promise<Duplex> {
  const socket = await upgrade(access, to, signal);
  return channelStream(openWebSocket(socket, "client"));
}

async function upgrade(
  access: ClusterAccess,
  { port, ...pod }: ForwardedPort,
  signal: AbortSignal,
): Promise<ByteTransport> {
  const base = new URL(access.server);
  const path = `${base.pathname.replace(/\/$/, "")}${objectPath(kubeKinds.pods, pod, "portforward")}?ports=${port}`;
  const { token, cert, key, ca } = await access.credentials(false);
  const trusted = ca ?? access.ca;
  return new Promise((resolve, reject) => {
    const request = httpsRequest({
      host: base.hostname.replace(/^\[|\]$/g, ""),
      port: base.port === "" ? 443 : Number(base.port),
      path,
      agent: false,
      signal,
      rejectUnauthorized: !access.insecure,
      ...(access.serverName === undefined ? {} : { servername: access.serverName }),
      ...(trusted === undefined ? {} : { ca: trusted }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
      headers: {
        ...{ connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" },
        ...{ "sec-websocket-key": randomBytes(16).toString("base64"), "sec-websocket-protocol": protocol },
        "user-agent": "fairlead",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
    });
    request.on("upgrade", (_response, socket, head) => resolve(socketTransport(socket, head)));
    request.on("response", async (response) => {
      const body = collectBytes();
      try {
        for await (const chunk of response) if (body.size < maxRefusalBytes) body.add(chunk as Buffer);
      } catch {
        // What came says enough.
      }
      reject(
        statusError(
          `port-forward to ${pod.namespace}/${pod.name}`,
          response.statusCode ?? 0,
          statusIn(body.whole().toString()),
        ),
      );
    });
    request.on("error", (cause) =>
      reject(
        signal.aborted
          ? signal.reason
          : new FairleadError("unavailable", `cannot reach the API at ${access.server}: ${cause.message}`, { cause }),
      ),
    );
    request.end();
  });
}

const maxRefusalBytes = 64 * 1024;

function statusIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return { message: text.trim() };
  }
}

/** What the Pod's side says on the other channel ends the connection with that word. */
function channelStream(transport: ByteTransport): Duplex {
  const stream = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      transport.send(Buffer.concat([Buffer.of(dataChannel), chunk])).then(() => done(), done);
    },
    final(done) {
      done();
    },
    destroy(error, done) {
      transport.close();
      done(error);
    },
  });
  void receive(transport, stream);
  return stream;
}

async function receive(transport: ByteTransport, stream: Duplex): Promise<void> {
  const skipped = new Map<number, number>();
  for await (const message of transport.incoming) {
    const [channel] = message;
    if (channel === undefined) continue;
    const toSkip = Math.min(portBytes - (skipped.get(channel) ?? 0), message.length - 1);
    skipped.set(channel, (skipped.get(channel) ?? 0) + toSkip);
    const bytes = message.subarray(1 + toSkip);
    if (bytes.length === 0) continue;
    if (channel === errorChannel) stream.destroy(new FairleadError("unavailable", bytes.toString().trim()));
    else if (channel === dataChannel) stream.push(bytes);
  }
  stream.push(null);
}
