/** A WebSocket and the ports that its client named in; connections to these inside the Pod, joined to its channels, out. */
import type { Socket } from "node:net";
import { type ByteTransport, drained, FairleadError } from "../../lib/index.ts";
import { channelWriter } from "./channel-writer.ts";
import type { Connect } from "./port-forward.ts";

/** For clients that speak no SPDY: two channels for each port, one for bytes and one for words of why there are none. */
export const channelProtocol = "v4.channel.k8s.io";

const maxPorts = 16;

/** Undefined where one is no port, or there are too many. */
export function portsIn(query: URLSearchParams): readonly number[] | undefined {
  const texts = query.getAll("ports").flatMap((text) => text.split(","));
  const ports = texts.map((text) => (/^\d{1,5}$/.test(text) ? Number(text) : 0));
  const isGood = ports.length > 0 && ports.length <= maxPorts && ports.every((port) => port >= 1 && port <= 65_535);
  return isGood ? ports : undefined;
}

export async function serveChannelForward(
  transport: ByteTransport,
  ports: readonly number[],
  connect: Connect,
): Promise<void> {
  let left = ports.length;
  // A WebSocket has no half: when nothing more comes from the Pod, there is nothing left to carry.
  const ended = (): void => {
    left -= 1;
    if (left === 0) transport.close();
  };
  const sockets = await Promise.all(ports.map((port, i) => open(transport, port, i * 2, connect, ended)));
  const leave = (): void => {
    for (const socket of sockets) socket?.destroy();
  };
  transport.gone.addEventListener("abort", leave, { once: true });
  if (transport.gone.aborted) leave();
  for await (const message of transport.incoming) {
    const socket = sockets[(message[0] ?? 0) / 2];
    if (socket && !socket.write(message.subarray(1))) await drained(socket);
  }
  leave();
}

async function open(
  transport: ByteTransport,
  port: number,
  channel: number,
  connect: Connect,
  ended: () => void,
): Promise<Socket | undefined> {
  const named = Buffer.alloc(2);
  named.writeUInt16LE(port);
  for (const one of [channel, channel + 1]) await transport.send(Buffer.concat([Buffer.of(one), named]));
  try {
    const socket = await connect(port);
    const writer = channelWriter(transport, channel).once("finish", ended);
    // One that breaks has no end of its own.
    socket.setNoDelay(true).on("error", () => writer.end());
    socket.pipe(writer);
    return socket;
  } catch (thrown) {
    const why = `error forwarding port ${port}: ${FairleadError.from(thrown).message}`;
    await transport.send(Buffer.concat([Buffer.of(channel + 1), Buffer.from(why)]));
    ended();
    return undefined;
  }
}
