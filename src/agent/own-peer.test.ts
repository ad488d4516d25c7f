import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createOwnPeer } from "./own-peer.ts";

const uid = process.geteuid?.() ?? 0;
let server: Server;
let other: ChildProcess;
beforeEach(async () => {
  server = createServer().listen(0, "::");
  await once(server, "listening");
  other = spawn("sleep", ["60"]);
});
afterEach(() => {
  other.kill();
  server.close();
});

/** Both ends of a connection, ours first. */
async function pair(host: string): Promise<readonly [Socket, Socket]> {
  const bound = server.address();
  const accepted = once(server, "connection");
  const theirs = connect(typeof bound === "object" && bound ? bound.port : 0, host);
  const [ours] = (await accepted) as [Socket];
  return [ours, theirs];
}

test.each(["127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1"])("over %s", async (host) => {
  const [ours, theirs] = await pair(host);
  const judge = (envoyPid: number | undefined, envoyUid = uid) =>
    createOwnPeer({ envoyPid: () => envoyPid, envoyUid })(ours);
  expect(await judge(undefined), "no Envoy runs").toBe(true);
  expect(await judge(other.pid), "Envoy is another process").toBe(true);
  expect(await judge(process.pid), "Envoy holds the other end").toBe(false);
  expect(await judge(process.pid, uid + 1), "another user's process is not Envoy").toBe(true);
  expect(await judge(2 ** 22 + 1), "Envoy's files cannot be read").toBe(false);
  theirs.destroy();
  await once(ours.resume(), "close");
  expect(await judge(other.pid), "nobody holds the other end any more").toBe(false);
  ours.destroy();
});

test("many at once are answered up to a bound, and refused beyond it", async () => {
  const [ours, theirs] = await pair("127.0.0.1");
  const isOwn = createOwnPeer({ envoyPid: () => undefined, envoyUid: uid });
  const answers = await Promise.all(Array.from({ length: 100 }, () => isOwn(ours)));
  expect(answers.filter(Boolean)).toHaveLength(32);
  expect(await isOwn(ours)).toBe(true);
  theirs.destroy();
  ours.destroy();
});
