/**
 * `up` without root: the same command again, inside a user namespace of its own, where it may make network namespaces.
 * That place has its own loopback; unix sockets reach across, so every address is listened on out here and relayed in.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FairleadError, isLoopback } from "../../lib/index.ts";
import type { Io } from "../command.ts";
import { formatAddress, type ListenAddress } from "../listen-address.ts";
import { selfCommand } from "../self.ts";
import { shellWord } from "../shell-word.ts";
import { createRelay, type Relay } from "./relay.ts";

/** Names the folder of sockets to the process inside. */
const relayVariable = "FAIRLEAD_RELAY_DIR";

/** Agents run as a user of their own, so one mapped user is not enough: this needs newuidmap and a range in /etc/subuid. */
const unshare = ["unshare", "--user", "--map-root-user", "--map-auto", "--net", "--mount", "--fork", "--kill-child"];
/**
 * Inside, whoever is relayed would be on loopback, and loopback may read debug paths. Callers from other machines come
 * from this address instead, which is nobody's (RFC 5737).
 */
const elsewhere = "192.0.2.1";
/** Named namespaces live under /run, which is root's: inside, an empty one covers it. */
const script = `mount -t tmpfs tmpfs /run && ip link set lo up && ip address add ${elsewhere}/32 dev lo && exec "$@"`;

export function isInside(io: Io): boolean {
  return io.env[relayVariable] !== undefined;
}

function mayUnshare(): boolean {
  const [command = "", ...args] = unshare;
  return spawnSync(command, [...args, "true"], { stdio: "ignore" }).status === 0;
}

/** By flag: where to listen out here. Resolves with the exit status of the process inside. */
export async function runInside(
  args: readonly string[],
  addresses: ReadonlyMap<string, ListenAddress>,
  io: Io,
): Promise<number> {
  if (!mayUnshare())
    throw new FairleadError("no-permission", "the demo needs network namespaces, which this user may not make", {
      hint: `run it as root: sudo fairlead ${args.map(shellWord).join(" ")}`,
    });
  const dir = mkdtempSync(join(tmpdir(), "fairlead-"));
  const relays: Relay[] = [];
  try {
    const flags: string[] = [];
    for (const [flag, address] of addresses) {
      const inside = ({ remoteAddress = "" }: Socket) => ({
        path: socketPath(dir, flag, isLoopback(remoteAddress)),
      });
      const relay = await createRelay(address, inside, flag);
      relays.push(relay);
      flags.push(flag, formatAddress({ host: "127.0.0.1", port: relay.address.port }));
    }
    // A later flag wins over an earlier one of the same name.
    return await start([...selfCommand(), ...args, ...flags], dir, io);
  } finally {
    await Promise.all(relays.map((relay) => relay.close()));
    rmSync(dir, { recursive: true, force: true });
  }
}

function start(command: readonly string[], dir: string, io: Io): Promise<number> {
  const [file = "", ...args] = unshare;
  const child = spawn(file, [...args, "sh", "-c", script, "sh", ...command], {
    stdio: "inherit",
    env: { ...io.env, [relayVariable]: dir, PATH: `${io.env["PATH"] ?? ""}:/usr/sbin:/sbin` },
    detached: true,
  });
  const stop = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGINT");
  };
  io.signal.addEventListener("abort", stop, { once: true });
  return new Promise((resolve) => {
    child.on("exit", (code) => {
      io.signal.removeEventListener("abort", stop);
      resolve(code ?? 1);
    });
  });
}

const socketPath = (dir: string, flag: string, local: boolean): string => join(dir, local ? flag : `${flag}-elsewhere`);

/** Inside: each address also by two sockets in the folder, for the process outside and its callers from this machine and others. */
export async function relayOut(addresses: ReadonlyMap<string, ListenAddress>, io: Io): Promise<readonly Relay[]> {
  const dir = io.env[relayVariable];
  if (dir === undefined) return [];
  return await Promise.all(
    [...addresses].flatMap(([flag, address]) => [
      createRelay({ path: socketPath(dir, flag, true) }, () => address, flag),
      createRelay({ path: socketPath(dir, flag, false) }, () => ({ ...address, from: elsewhere }), flag),
    ]),
  );
}

/** Without root, a workload joins from inside the place that its mesh made: the same command again, in that process's namespaces. */
export function runBeside(pid: number, args: readonly string[], io: Io): Promise<number> {
  const enter = ["--user", "--net", "--mount", "--preserve-credentials", `--target=${pid}`, "--"];
  const child = spawn("nsenter", [...enter, ...selfCommand(), ...args], {
    stdio: "inherit",
    env: { ...io.env, [relayVariable]: "", PATH: `${io.env["PATH"] ?? ""}:/usr/sbin:/sbin` },
  });
  const stop = (): void => void child.kill("SIGINT");
  io.signal.addEventListener("abort", stop, { once: true });
  return new Promise((resolve) => {
    child.on("exit", (code) => {
      io.signal.removeEventListener("abort", stop);
      resolve(code ?? 1);
    });
  });
}
