/**
 * A request that only whoever runs a Pod can answer in; its answer, byte for byte, out. As a kubelet does, a host trusts
 * the API, which has asked for the user's rights: it is reached by a unix socket that is named after the Pod's uid, which
 * the API itself gives out, so nothing that a user can write leads anywhere else.
 */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { KubeObject } from "../../model/index.ts";
import type { Parts } from "../context.ts";
import { failure, unreachable } from "../failure.ts";
import { readObject } from "../read.ts";
import type { ResourceRequest } from "../request.ts";
import type { Response } from "../respond.ts";
import { podQuestion } from "./question.ts";

type Headers = Readonly<Record<string, string>>;

function askHost(parts: Parts, pod: KubeObject, method: string, path: string, headers: Headers): ClientRequest {
  const socketPath = parts.podSocket(pod.metadata.uid ?? "");
  if (socketPath === undefined) throw nobody(pod);
  return httpRequest({ socketPath, method, path, headers, agent: false });
}

function nobody({ metadata }: KubeObject): Error {
  return unreachable(`error dialing backend: nobody on this machine runs Pod ${metadata.namespace}/${metadata.name}`);
}

/** Resolves with the first answer, whichever it is. */
function answerOf(asked: ClientRequest, pod: KubeObject): Promise<Answered> {
  return new Promise((resolve, reject) => {
    asked.once("response", (answer) => resolve({ answer }));
    asked.once("upgrade", (answer, socket, head) => resolve({ answer, socket, head }));
    asked.on("error", () => reject(nobody(pod)));
    asked.end();
  });
}

interface Answered {
  readonly answer: IncomingMessage;
  readonly socket?: Duplex;
  readonly head?: Buffer;
}

export async function sendLog(parts: Parts, request: ResourceRequest, response: Response): Promise<void> {
  const pod = readObject(parts, request);
  const asked = askHost(parts, pod, "GET", podQuestion(request, pod), {});
  response.once("close", () => asked.destroy());
  const { answer } = await answerOf(asked, pod);
  if (answer.statusCode !== 200) throw failure("BadRequest", await wordsOf(answer));
  response.statusCode = 200;
  response.setHeader("content-type", answer.headers["content-type"] ?? "text/plain");
  response.setHeader("cache-control", "no-cache, private");
  if ("flushHeaders" in response) response.flushHeaders();
  // Who has gone away has no use for the rest.
  await pipeline(answer, response as NodeJS.WritableStream).catch(() => response.destroy());
}

const maxWords = 4096;

async function wordsOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of answer.setEncoding("utf8")) text = `${text}${chunk}`.slice(0, maxWords);
  return text;
}

/** Of the headers of the request, those that the two ends agree on a protocol with. */
const agreed = [
  "connection",
  "upgrade",
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-protocol",
  "x-stream-protocol-version",
];

/** Resolves with the status of the answer, once the two are joined. */
export async function relayUpgrade(
  parts: Parts,
  asked: ResourceRequest,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<number> {
  const pod = readObject(parts, asked);
  const headers = agreed.flatMap((name) => {
    const value = request.headers[name];
    return value === undefined ? [] : [[name, [value].flat().join(", ")] as const];
  });
  const host = askHost(parts, pod, "GET", podQuestion(asked, pod), Object.fromEntries(headers));
  socket.once("close", () => host.destroy());
  const answered = await answerOf(host, pod);
  const { answer } = answered;
  const lines = answer.rawHeaders.flatMap((name, i) =>
    i % 2 === 0 ? [`${name}: ${answer.rawHeaders[i + 1] ?? ""}\r\n`] : [],
  );
  socket.write(`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n${lines.join("")}\r\n`);
  if (answered.socket) join(socket, head, answered.socket, answered.head);
  else answer.pipe(socket);
  return answer.statusCode ?? 500;
}

function join(client: Duplex, early: Buffer, host: Duplex, head: Buffer | undefined): void {
  if (head && head.length > 0) client.write(head);
  if (early.length > 0) host.write(early);
  host.on("error", () => client.destroy()).on("close", () => client.destroy());
  client.on("error", () => host.destroy()).on("close", () => host.destroy());
  client.pipe(host);
  host.pipe(client);
}
