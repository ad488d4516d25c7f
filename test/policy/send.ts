/** A request in, byte for byte as written, or a word to a server that speaks no HTTP, over plaintext or mTLS; what came back out. */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { ownAddress } from "./envoy.ts";
import type { Verdict } from "./evaluate.ts";
import type { Credentials } from "./identity.ts";
import type { PolicyRequest } from "./request.ts";

export interface Outcome {
  readonly verdict: Verdict | `status ${number}`;
  /** The path that the application saw, without query. */
  readonly seenPath: string | undefined;
}

export interface Sending {
  readonly port: number;
  readonly token: string | undefined;
  readonly credentials: Credentials | undefined;
}

const verdicts: ReadonlyMap<number, Verdict> = new Map([
  [200, "passed"],
  [400, "malformed"],
  [401, "unauthenticated"],
  [403, "forbidden"],
]);

export async function send(request: PolicyRequest, sending: Sending): Promise<Outcome> {
  const answer = await exchange(request, sending).catch(() => "");
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
  if (status === 0) return { verdict: "refused", seenPath: undefined };
  const seen = /\r\nx-seen: (.*)\r\n/i.exec(answer)?.[1];
  return {
    verdict: verdicts.get(status) ?? `status ${status}`,
    seenPath: seen === undefined ? undefined : decodeURIComponent(seen).replace(/\?.*$/, ""),
  };
}

function requestText({ method, target, host, headers, forwardedFor }: PolicyRequest, token?: string): string {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    `host: ${host}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    ...(forwardedFor === undefined ? [] : [`x-forwarded-for: ${forwardedFor}`]),
    ...(method === "GET" || method === "HEAD" ? [] : ["content-length: 0"]),
    "connection: close",
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

function exchange(request: PolicyRequest, { port, token, credentials }: Sending): Promise<string> {
  return new Promise((resolve, reject) => {
    const place = { host: ownAddress, port, localAddress: request.source };
    const text = requestText(request, token);
    const socket: Socket = credentials
      ? connectTls({
          ...place,
          ...credentials,
          // The server is known by its SPIFFE id only; who the client is, is what is tried here.
          rejectUnauthorized: false,
          ALPNProtocols: ["istio-http/1.1", "istio"],
        })
      : connectTcp(place);
    let answer = "";
    socket.setTimeout(10_000, () => socket.destroy(new Error("no answer")));
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      // The head says it all, and Envoy waits a second for the client to close first.
      if (answer.includes("\r\n\r\n")) socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
    // A byte for a character: also those that are no text.
    socket.write(text, "latin1");
  });
}

/** To a server that answers a word with `hello`. */
export function say(
  { source }: PolicyRequest,
  port: number,
  credentials: Credentials | undefined,
): Promise<"passed" | "refused"> {
  return new Promise((resolve) => {
    const place = { host: ownAddress, port, localAddress: source };
    const socket: Socket = credentials
      ? connectTls({ ...place, ...credentials, rejectUnauthorized: false, ALPNProtocols: ["istio"] })
      : connectTcp(place);
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", () => {});
    const done = (): void => {
      resolve(text === "hello" ? "passed" : "refused");
      socket.destroy();
    };
    socket.on("end", done);
    socket.on("close", done);
    // Nobody speaks first otherwise: the server waits to see what is spoken.
    socket.write("a word to the server\n");
    socket.setTimeout(10_000, () => socket.destroy());
  });
}
