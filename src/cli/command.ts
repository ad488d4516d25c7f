/** What a command is handed and what it gives back; one file per command implements it. */
import type { Command } from "commander";

/** The outside of a command: streams, environment, cancellation. Tests hand in their own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Only what was asked for. */
  out(text: string): void;
  /** Everything else: progress, warnings, errors. */
  err(text: string): void;
  /** Whether stdout is a terminal (colours, redraws). */
  readonly tty: boolean;
  /** Whether stderr is one: progress is redrawn only there. */
  readonly errTty?: boolean;
  readonly signal: AbortSignal;
}

/** Adds the command to the program; its action resolves to the exit status. */
export type Register = (program: Command, io: Io, exit: (status: number) => void) => void;

export interface CommandEntry {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly summary: string;
  /** For programs: no help lists it. */
  readonly hidden?: boolean;
  /** Loaded only when the command is used, so that start-up stays short. */
  load(): Promise<{ readonly register: Register }>;
}

/** Resolves when the command is told to stop. */
export function untilStopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** For an option that may be given several times. */
export const collect = (value: string, all: readonly string[]): readonly string[] => [...all, value];
