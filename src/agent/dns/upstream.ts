/** A question that is not ours in; the answer of the first server that gives one, as it came, out. */
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect, isIPv6 } from "node:net";
import type { Query } from "./message.ts";

export interface NameServer {
  readonly host: string;
  readonly port: number;
}

export interface Upstream {
  /** Undefined where no server has answered in time. */
  ask(query: Query, protocol: "udp" | "tcp"): Promise<Buffer | undefined>;
}

/** Of one server; resolvers in C libraries wait as long. */
const answerMs = 5_000;
/** Past this many at once, or a quarter of all descriptors, a question is not passed on: its asker is told so at once. */
const mostWaiting = 1_000;
const headBytes = 12;

export function createUpstream(
  servers: () => readonly NameServer[],
  descriptorLimit: number = Number.POSITIVE_INFINITY,
): Upstream {
  const maxWaiting = Math.min(mostWaiting, descriptorLimit / 4);
  let waiting = 0;
  return {
    async ask({ bytes }, protocol) {
      if (waiting >= maxWaiting) return undefined;
      waiting++;
      try {
        for (const server of servers()) {
          const answer = await askServer(server, bytes, protocol);
          if (answer) return answer;
        }
        return undefined;
      } finally {
        waiting--;
      }
    },
  };
}

/** With an id of our own, so that nobody who knows the asker's can answer in the server's place. */
async function askServer(server: NameServer, bytes: Buffer, protocol: "udp" | "tcp"): Promise<Buffer | undefined> {
  const question = Buffer.from(bytes);
  question.writeUInt16BE(randomInt(0x10000), 0);
  const answer = await (protocol === "udp" ? askUdp : askTcp)(server, question);
  if (!answer) return undefined;
  const own = Buffer.from(answer);
  own.writeUInt16BE(bytes.readUInt16BE(0), 0);
  return own;
}

/** Of the same id, and to the same question: a guessed id is not enough. */
function isAnswer(data: Buffer, question: Buffer): boolean {
  if (data.length < headBytes || data.readUInt16BE(0) !== question.readUInt16BE(0)) return false;
  const flags = data.readUInt16BE(2);
  if ((flags & isResponse) === 0) return false;
  // A server that cannot read a question repeats none.
  if (data.readUInt16BE(4) === 0) return (flags & failureCode) !== 0;
  const asked = questionText(question);
  return asked !== undefined && questionText(data) === asked;
}

const [isResponse, failureCode, longestLabel] = [0x8000, 0x000f, 63];

/** Name, type and class of the first question, in lower case. */
function questionText(bytes: Buffer): string | undefined {
  let at = headBytes;
  for (let length = bytes[at]; length !== 0; length = bytes[at]) {
    if (length === undefined || length > longestLabel) return undefined;
    at += length + 1;
  }
  return bytes
    .subarray(headBytes, at + 5)
    .toString("latin1")
    .toLowerCase();
}

function askUdp({ host, port }: NameServer, question: Buffer): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
    const finish = (answer: Buffer | undefined): void => {
      clearTimeout(timer);
      socket.removeAllListeners();
      // A late error has nobody to tell.
      socket.on("error", () => {});
      socket.close();
      resolve(answer);
    };
    const timer = setTimeout(() => finish(undefined), answerMs);
    socket.on("error", () => finish(undefined));
    socket.on("message", (data) => {
      if (isAnswer(data, question)) finish(data);
    });
    // Connected: only that server is heard, and a closed port is noticed at once.
    socket.connect(port, host, () => socket.send(question));
  });
}

function askTcp({ host, port }: NameServer, question: Buffer): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    let buffered = Buffer.alloc(0);
    const finish = (answer: Buffer | undefined): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => finish(undefined), answerMs);
    socket.on("error", () => finish(undefined));
    socket.on("close", () => finish(undefined));
    socket.on("data", (chunk) => {
      buffered = Buffer.concat([buffered, chunk]);
      if (buffered.length < 2 || buffered.length < 2 + buffered.readUInt16BE(0)) return;
      const answer = buffered.subarray(2, 2 + buffered.readUInt16BE(0));
      finish(isAnswer(answer, question) ? answer : undefined);
    });
    const head = Buffer.alloc(2);
    head.writeUInt16BE(question.length);
    socket.write(Buffer.concat([head, question]));
  });
}
