import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { isLoopback } from "../../lib/index.ts";
import { createRelay } from "./relay.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

/** Says who it takes its caller for. */
async function startTarget(): Promise<number> {
  const server = createServer((socket) => socket.end(socket.remoteAddress ?? "")).listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push(() => server.close());
  const bound = server.address();
  return typeof bound === "object" && bound ? bound.port : 0;
}

async function read(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket.setEncoding("utf8")) text += chunk;
  return text;
}

test("across two relays and a socket, callers from elsewhere do not become callers from loopback", async () => {
  const port = await startTarget();
  const dir = mkdtempSync(join(tmpdir(), "relay-"));
  open.push(() => rmSync(dir, { recursive: true }));
  const path = (local: boolean): string => join(dir, local ? "here" : "elsewhere");
  const inner = [
    await createRelay({ path: path(true) }, () => ({ host: "127.0.0.1", port }), "--x"),
    // Any other local address does for the test; inside it is one of a network that is nobody's.
    await createRelay({ path: path(false) }, () => ({ host: "127.0.0.1", port, from: "127.0.0.9" }), "--x"),
  ];
  const callers = ["127.0.0.2"];
  const outer = await createRelay(
    { host: "0.0.0.0", port: 0 },
    ({ remoteAddress = "" }) => ({ path: path(isLoopback(remoteAddress) && !callers.includes(remoteAddress)) }),
    "--x",
  );
  for (const relay of [...inner, outer]) open.push(() => relay.close());
  const call = (localAddress: string) => read(connect({ host: "127.0.0.1", port: outer.address.port, localAddress }));
  expect(await call("127.0.0.1")).toBe("127.0.0.1");
  expect(await call("127.0.0.2")).toBe("127.0.0.9");
});
