import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../lib/index.ts";
import { type StatusServer, startStatusServer } from "./status-server.ts";

let server: StatusServer;
beforeEach(async () => {
  server = await startStatusServer({
    host: "127.0.0.1",
    port: 0,
    notReady: async () => undefined,
    envoyMetrics: async () => "",
    agentMetrics: () => "",
    proxyMetrics: () => [],
    appMetrics: async () => "",
    appProbes: new Map(),
    appAddress: "127.0.0.1",
    onQuit: () => {},
    onDrain: async () => {},
    log: silentLogger,
  });
});
afterEach(() => server.close());

async function raw(text: string): Promise<string> {
  const socket = connect(server.port, "127.0.0.1");
  let answer = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    answer += chunk;
  });
  socket.write(text);
  await once(socket, "close");
  return answer;
}

test("a target that is no URL is refused, and the agent lives on", async () => {
  expect(await raw("GET //[ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).toMatch(/^HTTP\/1.1 400 /);
  expect((await fetch(`http://127.0.0.1:${server.port}/healthz/ready`)).status).toBe(200);
});
