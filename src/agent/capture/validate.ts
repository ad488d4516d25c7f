/**
 * Capture settings in; nothing out where the kernel captures by them, a throw where it does not. As Istio's validation does:
 * somebody listens where Envoy would, the proxy's user calls an address of loopback that is captured, and the call has to
 * come out at the listener.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket, type TcpNetConnectOpts } from "node:net";
import { FairleadError, parseDurationMs, wait } from "../../lib/index.ts";
import { type CaptureConfig, splitList } from "./config.ts";

interface Probe {
  /** Where Envoy would listen. */
  readonly listenOn: string;
  /** Calls to it by the proxy's user are led to the inbound port, by whatever port they go. */
  readonly call: string;
}

const probes: readonly [Probe, Probe] = [
  { listenOn: "127.0.0.1", call: "127.0.0.6" },
  { listenOn: "::1", call: "::6" },
];
const againMs = 200;

export async function validateCapture(config: CaptureConfig, log: (message: string) => void): Promise<void> {
  if (config.networkNamespace !== "")
    throw new FairleadError("usage", "rules of another network namespace cannot be tried from here", {
      hint: "run it inside, with --skip-rule-apply --run-validation",
    });
  log("Starting validation. This check verifies that capture rules are properly established for the network.");
  for (const probe of config.enableIpv6 ? probes : probes.slice(0, 1)) await validateFamily(probe, config);
  log("Validation passed, capture rules established");
}

async function validateFamily({ listenOn, call }: Probe, config: CaptureConfig): Promise<void> {
  const word = randomBytes(16).toString("hex");
  const seen = Promise.withResolvers<true>();
  const sockets = new Set<Socket>();
  const opened: Server[] = [];
  try {
    for (const port of [config.proxyPort, config.inboundCapturePort])
      opened.push(
        await listen(listenOn, Number(port), (socket) => {
          sockets.add(socket);
          readWord(socket, word.length, (text) => void (text === word && seen.resolve(true)));
        }),
      );
    const untilMs = performance.now() + (parseDurationMs(config.probeTimeout) ?? 0);
    do {
      say(
        await callAsProxy({ host: call, port: Number(config.probePort), localAddress: listenOn }, config),
        word,
        sockets,
      );
      if (await Promise.race([seen.promise, wait(againMs)])) return;
    } while (performance.now() < untilMs);
    throw new FairleadError(
      "timeout",
      `what user ${config.proxyUid} sends to ${call}:${config.probePort} is not captured`,
      {
        hint: "were the rules applied in this network namespace, with the same --proxy-uid, and does it run as that user or as root?",
      },
    );
  } finally {
    for (const socket of sockets) socket.destroy();
    for (const server of opened) server.close();
  }
}

async function listen(host: string, port: number, accept: (socket: Socket) => void): Promise<Server> {
  const server = createServer(accept).listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new FairleadError(
      "port-in-use",
      `${host}:${port} cannot be listened on: ${FairleadError.from(cause).message}`,
      {
        hint: "validate before Envoy starts",
        cause,
      },
    );
  }
  return server;
}

function readWord(socket: Socket, length: number, tell: (text: string) => void): void {
  let text = "";
  socket.setEncoding("latin1").on("error", () => {});
  socket.on("data", (chunk: string) => {
    text = (text + chunk).slice(0, length);
    if (text.length === length) tell(text);
  });
}

function say(socket: Socket, word: string, sockets: Set<Socket>): void {
  sockets.add(socket);
  socket.on("error", () => {}).end(word);
}

/**
 * The kernel goes by who makes the socket, which happens in the turn after `connect` was called. Root takes the proxy's place
 * for that long; somebody else calls as himself.
 */
async function callAsProxy(to: TcpNetConnectOpts, { proxyUid, proxyGid }: CaptureConfig): Promise<Socket> {
  const [uid, gid] = [splitList(proxyUid)[0], splitList(proxyGid)[0]].map(Number);
  const isRoot = process.geteuid?.() === 0 && Number.isInteger(uid) && Number.isInteger(gid);
  const before = process.getegid?.() ?? 0;
  if (isRoot && uid !== undefined && gid !== undefined) {
    process.setegid?.(gid);
    process.seteuid?.(uid);
  }
  try {
    const socket = connect(to).on("error", () => {});
    await new Promise((resolve) => setImmediate(resolve));
    return socket;
  } finally {
    if (isRoot) {
      process.seteuid?.(0);
      process.setegid?.(before);
    }
  }
}
