/** What a fault is: something is done to a mesh, taken back after a while, and something must come of it. */
import type { Random } from "../../random.ts";
import type { ChaosMesh, ChaosPod } from "../mesh.ts";

/** A machine without time starts a process in minutes: as long as a supervisor gives it, and more. */
export const startsWithinMs = 240_000;

export interface Kill {
  /** The Pod whose part it was; undefined where no request goes through it. */
  readonly pod: ChaosPod | undefined;
  /** In words: `the Envoy of web-2`. */
  readonly what: string;
  /** It happened between these. */
  readonly from: number;
  readonly until: number;
}

export interface Stage {
  readonly mesh: ChaosMesh;
  readonly random: Random;
  /** One of the servers. */
  server(): ChaosPod;
  /** As it was before. */
  pod(name: string): ChaosPod;
  /** Ends processes at once, and writes it down: requests under way on them are counted apart. */
  kill(what: string, pids: readonly number[], pod?: ChaosPod): void;
}

export type Heal = () => Promise<void> | void;

export interface Fault {
  readonly name: string;
  readonly what: string;
  /** What must come of it, beside: no request fails but those under way on what was killed, and the mesh is whole again. */
  readonly expected: string;
  /** Causes of failed requests that are part of it. */
  readonly allows?: RegExp;
  /** For how long after a kill they are. */
  readonly allowedMs?: number;
  /** How long it lasts; 0 where it is over at once and the mesh must heal by itself. */
  readonly holdMs: number;
  /** Faults that touch the same part are not played together. */
  readonly touches: readonly string[];
  /** Nor with one that touches a part which it needs in order to heal, or to mean anything. */
  readonly needs?: readonly string[];
  /** Why it cannot be played on this machine. */
  lacks?(mesh: ChaosMesh): string | undefined;
  inject(stage: Stage): Promise<Heal>;
}

/** Nobody answers for the client between one agent and the next, which is there in 5 s; on a busy machine in twice that. */
export const lookUpsMeanwhile: Pick<Fault, "allows" | "allowedMs"> = {
  allows: /^fresh: sent to what was left of the agent of (the )?client: 0 .*getaddrinfo/,
  allowedMs: 10_000,
};

export function canPair(a: Fault, b: Fault): boolean {
  const meets = (parts: readonly string[], others: readonly string[]): boolean =>
    parts.some((part) => others.includes(part));
  return !meets(a.touches, [...b.touches, ...(b.needs ?? [])]) && !meets(b.touches, a.needs ?? []);
}

/** Nothing to take back. */
export const byItself: Heal = () => {};

export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  if (pids.length === 0) throw new Error(`there is no process to send ${signal}`);
  for (const pid of pids)
    try {
      process.kill(pid, signal);
    } catch {
      // It ended between our look and now.
    }
}
