/** For tests: both ends of a connection as the API has one to a Pod's host, over a unix socket. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function socketPair(): Promise<{ readonly there: Socket; readonly here: Socket }> {
  const dir = mkdtempSync(join(tmpdir(), "kubelet-"));
  const server = createServer();
  server.listen(join(dir, "s"));
  await once(server, "listening");
  const accepted = once(server, "connection");
  const there = connect(join(dir, "s"));
  const [here] = (await accepted) as [Socket];
  server.close();
  rmSync(dir, { recursive: true });
  return { there, here };
}
