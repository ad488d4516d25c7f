/**
 * Ports on which nobody listens, for programs that cannot be told to choose one. They lie below those that the system
 * gives to outgoing connections: one of those may take a port between the look at it and its use.
 */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

const lowest = 20_000;

export async function freePorts(count: number): Promise<readonly number[]> {
  const found = new Set<number>();
  for (let tries = 0; found.size < count; tries++) {
    if (tries > 1000) throw new Error("no free port found");
    const port = randomInt(lowest, lowestOutgoing());
    if (!found.has(port) && (await isFree(port))) found.add(port);
  }
  return [...found];
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

function lowestOutgoing(): number {
  const [from = ""] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").split("\t");
  return Math.max(lowest + 1, Number(from));
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    const listening = once(server, "listening");
    server.listen(port, "127.0.0.1");
    await listening;
    server.close();
    await once(server, "close");
    return true;
  } catch {
    return false;
  }
}
