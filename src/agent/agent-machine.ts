/** A working folder in; what an agent finds there and on its machine out. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { resolve } from "node:path";
import type { Logger } from "../lib/index.ts";
import { livingEnvoy } from "./envoy/record.ts";

/** Handed in to whatever reads it. */
export interface AgentMachine {
  readonly workDir: string;
  readonly hostname: string;
  readonly addresses: readonly string[];
  /** The text of a file, from the working folder on; undefined where there is none. */
  readonly readFile: (path: string) => string | undefined;
  /** Part of a path that nobody can guess. */
  readonly secretName: string;
  readonly now: () => Date;
  readonly random: () => number;
  readonly log: Logger;
}

export function readAgentMachine(workDir: string, log: Logger): AgentMachine {
  const interfaces = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const usable = interfaces.filter((entry) => !entry.internal && !entry.address.startsWith("fe80"));
  return {
    workDir,
    hostname: hostname(),
    addresses: usable.map((entry) => entry.address),
    readFile(path) {
      try {
        return readFileSync(resolve(workDir, path), "utf8");
      } catch {
        return undefined;
      }
    },
    // An Envoy that is there knows its sockets by the name of the agent before.
    secretName: livingEnvoy(workDir)?.sockets ?? randomBytes(8).toString("hex"),
    now: () => new Date(),
    random: Math.random,
    log,
  };
}
