/** A folder of sockets in; those that nobody listens on any longer, because their owner was killed, removed out. */
import { readdirSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { type SocketFolder, systemCode } from "../../lib/index.ts";

/** A younger one may be about to be listened on. */
const minAgeMs = 10_000;

export async function removeDeadSockets(folder: SocketFolder, dir: string): Promise<void> {
  const isOld = (name: string): boolean =>
    (statSync(join(dir, name), { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY) < Date.now() - minAgeMs;
  const names = readdirSync(dir).filter((name) => name.endsWith(".sock") && isOld(name));
  await Promise.all(
    names.map(async (name) => {
      if (await isDead(folder.path(name))) rmSync(join(dir, name), { force: true });
    }),
  );
}

function isDead(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("error", (error) => resolve(systemCode(error) === "ECONNREFUSED"));
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
  });
}
