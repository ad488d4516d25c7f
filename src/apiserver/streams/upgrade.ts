/** A request to go on in another protocol in; the stream into its Pod out, for whom that is allowed. */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { FairleadError } from "../../lib/index.ts";
import type { Parts } from "../context.ts";
import { failure, isTold, type Status, statusOf } from "../failure.ts";
import { requireAllowed } from "../forbidden.ts";
import { identify } from "../identify.ts";
import { podStreams } from "../kind.ts";
import type { ApiMetrics } from "../metrics.ts";
import { noConnections } from "../no-room.ts";
import { actionOf, parseRequest, resolveRequest, unknownPath } from "../request.ts";
import type { Action } from "../rules.ts";
import type { Tokens } from "../tokens.ts";
import { relayUpgrade } from "./relay.ts";

export interface UpgradeOptions extends Parts {
  readonly tokens: Tokens;
  readonly metrics: ApiMetrics;
}

/** `isRefused`: its connection was let in only to be told that there is no room. */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  isRefused: boolean,
) => Promise<void>;

/** As a kubelet's; a peer that is gone without a word is found by TCP long before. */
const idleMs = 4 * 60 * 60_000;

export function createUpgradeHandler(options: UpgradeOptions): UpgradeHandler {
  return async (request, socket, head, isRefused) => {
    socket.on("error", () => {});
    boundIdleness(request.socket);
    let code: number;
    try {
      if (isRefused) throw noConnections();
      code = await upgrade(options, request, socket, head);
    } catch (error) {
      const status = statusOf(error);
      code = status.code;
      if (code >= 500 && !isRefused && !isTold(error))
        options.log.error(`${request.method} ${request.url?.split("?")[0]}: ${FairleadError.from(error).message}`);
      refuse(socket, status);
    }
    if (code !== switching) letGo(socket);
    options.metrics.answered(request.method ?? "", code);
  };
}

const switching = 101;
/** For whoever was refused to read why. */
const lingerMs = 5_000;

/** Also one that stays, or goes on to speak: nobody listens to it any more, and it may have come without any right. */
function letGo(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

/** What was said to be too slow a request is none any longer. */
function boundIdleness(socket: Socket): void {
  socket.removeAllListeners("timeout");
  socket.setTimeout(idleMs, () => socket.destroy());
}

/**
 * Processes of Pods have this machine's files, and mostly its root: a command beside them is one on the node, which the
 * roles that Kubernetes gives to a namespace's people do not grant.
 */
const onTheNode: Action = {
  verb: "create",
  group: "",
  resource: "nodes",
  subresource: "proxy",
  namespace: "",
  name: "",
};

async function upgrade(
  options: UpgradeOptions,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<number> {
  const user = await identify(options.tokens, options.authorizer, request);
  const asked = parseRequest(request.method ?? "GET", request.url ?? "/");
  requireAllowed(options.authorizer, user, actionOf(asked));
  if (asked.type === "other") throw unknownPath();
  const found = resolveRequest(options.registry, asked);
  const isStream = podStreams.includes(found.subresource ?? "") && found.subresource !== "log";
  if (!isStream) throw failure("BadRequest", "this is not served over any other protocol: ask without an upgrade");
  if (found.subresource === "exec") requireAllowed(options.authorizer, user, onTheNode);
  return await relayUpgrade(options, found, request, socket, head);
}

function refuse(socket: Duplex, status: Status & { readonly code: number }): void {
  const body = Buffer.from(`${JSON.stringify(status)}\n`);
  const head = [
    `HTTP/1.1 ${status.code} ${STATUS_CODES[status.code] ?? ""}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    "connection: close",
  ];
  socket.end(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]));
}
