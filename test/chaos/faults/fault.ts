/** What a fault is: something is done to a mesh, taken back after a while, and something must come of it. */
import type { Random } from "../../random.ts";
import type { Container } from "../containers.ts";
import type { ChaosMesh, ChaosPod } from "../mesh.ts";

/** A machine without time starts a process in minutes: as long as a supervisor gives it, and more. */
export const startsWithinMs = 240_000;

export interface Kill {
  /** The Pod whose part it was; undefined where no request goes through it. */
  readonly pod: ChaosPod | undefined;
  /** Of that Pod: it is started again, and that is counted. */
  readonly container?: Container | undefined;
  /** The name of the Pod that another takes the place of. */
  readonly replaces?: string | undefined;
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
  kill(what: string, pids: readonly number[], more?: Partial<Pick<Kill, "pod" | "container" | "replaces">>): void;
  /** Whether another fault that is played at the same time touches one of these parts: then less can be expected. */
  isTouched(...parts: readonly string[]): boolean;
  /** Something seen, for whoever reads the table. */
  tell(text: string): void;
}

/** What is left to be done of a fault that was injected. Both throw where something was not as expected. */
export interface Course {
  /** Takes it back after `holdMs`; without it the mesh heals by itself. */
  readonly end?: () => Promise<void> | void;
  /** When the mesh is whole again. */
  readonly verify?: () => Promise<void> | void;
}

export interface Fault {
  readonly name: string;
  readonly what: string;
  /**
   * What must come of it, beside: no request fails but those under way on what was killed, no container is started again
   * but those that were killed, and the mesh is whole again. `inject` and its course check it.
   */
  readonly expected: string;
  /** Causes of failed requests that are part of it. */
  readonly allows?: RegExp;
  /** For how long after a kill they are. */
  readonly allowedMs?: number;
  /** Where another fault touches one of these: until the mesh is whole. */
  readonly allowedLonger?: readonly string[];
  /** How long it lasts; 0 where it is over at once and the mesh must heal by itself. */
  readonly holdMs: number;
  /** Faults that touch the same part are not played together. */
  readonly touches: readonly string[];
  /** Nor with one that touches a part which it needs in order to heal, or to mean anything. */
  readonly needs?: readonly string[];
  /** Why it cannot be played on this machine. */
  lacks?(mesh: ChaosMesh): string | undefined;
  inject(stage: Stage): Promise<Course>;
}

/** Nobody answers for the client between one agent and the next, which is there in 5 s; on a busy machine in twice that. */
export const lookUpsMeanwhile: Pick<Fault, "allows" | "allowedMs"> = {
  allows: /^fresh: sent to what was left of the agent of (the )?client: 0 .*getaddrinfo/,
  allowedMs: 10_000,
};

const meets = (parts: readonly string[], others: readonly string[]): boolean =>
  parts.some((part) => others.includes(part));

export function canPair(a: Fault, b: Fault): boolean {
  return !meets(a.touches, [...b.touches, ...(b.needs ?? [])]) && !meets(b.touches, a.needs ?? []);
}

export const isTouchedBy = (others: readonly Fault[], parts: readonly string[]): boolean =>
  others.some(({ touches }) => meets(touches, parts));

/** Nothing to take back, and nothing more to look at. */
export const byItself: Course = {};

export function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  if (pids.length === 0) throw new Error(`there is no process to send ${signal}`);
  for (const pid of pids)
    try {
      process.kill(pid, signal);
    } catch {
      // It ended between our look and now.
    }
}
