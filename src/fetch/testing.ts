/** A small HTTP server on loopback whose answers tests choose by path. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface TestServer {
  readonly url: string;
  readonly port: number;
  /** Paths that were asked for, in order. */
  readonly asked: string[];
  answer(path: string, answer: Answer): void;
  close(): Promise<void>;
}

export async function startServer(tls?: { readonly cert: string; readonly key: string }): Promise<TestServer> {
  const answers = new Map<string, Answer>();
  const asked: string[] = [];
  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    const path = request.url ?? "";
    asked.push(path);
    const answer = answers.get(path);
    if (answer) answer(request, response);
    else response.writeHead(404).end("secret of the server");
  };
  const server = tls ? createTlsServer(tls, handler) : createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
    port,
    asked,
    answer: (path, answer) => void answers.set(path, answer),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export const json =
  (body: unknown): Answer =>
  (_request, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));

export const redirect =
  (location: string): Answer =>
  (_request, response) =>
    response.writeHead(302, { location }).end();
