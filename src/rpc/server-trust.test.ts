import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createRpcClient } from "./client.ts";
import { checkServerNames } from "./server-trust.ts";
import { RpcError, status } from "./status.ts";
import { echo, message } from "./testing.ts";

const open: (() => unknown)[] = [];
afterEach(() => {
  for (const close of open.splice(0).reverse()) close();
});

test("P01: a server that accepts and says nothing is left again", async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push(
    () => server.close(),
    () => sockets.map((socket) => socket.destroy()),
  );
  const { port } = server.address() as AddressInfo;
  const client = createRpcClient({ target: { host: "127.0.0.1", port }, tls: () => ({}), connectMs: 50 });
  open.push(() => client.close());
  const failed = new RpcError(status.unavailable, "the connection was lost: no connection within 50 ms");
  await expect(client.unary(echo.unary, message("x"))).rejects.toEqual(failed);
});

test("P01: a common name is nobody's name", () => {
  const subject = { C: "", ST: "", L: "", O: "", OU: "", CN: "a.test" };
  const shown = (subjectaltname: string | undefined): boolean =>
    checkServerNames("a.test", { subject, subjectaltname } as Parameters<typeof checkServerNames>[1]) === undefined;
  expect(["DNS:a.test", "URI:spiffe://a.test/ns/b/sa/c", "DNS:b.test", undefined].map(shown)).toEqual([
    ...[true, false, false, false],
  ]);
});
