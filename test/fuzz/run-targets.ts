/** Targets and a seed in; how often each was run, and what went wrong, out. Every run can be repeated by its number. */
import { createHash } from "node:crypto";
import { FairleadError } from "../../src/lib/index.ts";
import { RpcError } from "../../src/rpc/index.ts";
import { threadCpuMs } from "../cpu-time.ts";
import { createRandom } from "../random.ts";
import type { Target } from "./target.ts";

export interface Crash {
  readonly target: string;
  readonly run: number;
  readonly why: string;
  readonly input: string;
}

export interface Outcome {
  readonly target: string;
  readonly runs: number;
  /** Runs that ended with an answer, and not with one of our errors. */
  readonly answered: number;
  readonly crashes: readonly Crash[];
  /** The run that kept its thread from everything else for longest, in processor time. */
  readonly longest: { readonly run: number; readonly ms: number; readonly inputSize: number };
}

export interface FuzzOptions {
  readonly seed: number;
  /** Of a target with weight 1. */
  readonly runs: number;
  /** For repeating one. */
  readonly first?: number;
  /** Told before each run, so that somebody else can say where it hangs. */
  readonly progress?: (run: number) => void;
}

const maxCrashes = 5;
/** Beside what grows with the input: error texts, fixed columns, defaults. */
const allowance = 256 * 1024;

export async function fuzzTarget(target: Target, options: FuzzOptions): Promise<Outcome> {
  const { seed, first = 0 } = options;
  const end = first + Math.max(1, Math.floor(options.runs / (target.weight ?? 1)));
  const crashes: Crash[] = [];
  let answered = 0;
  let longest = { run: first, ms: 0, inputSize: 0 };
  let run = first;
  for (; run < end && crashes.length < maxCrashes; run++) {
    options.progress?.(run);
    const input = target.input(createRandom(seedOf(seed, target.name, run)));
    const beforeMs = threadCpuMs();
    const why = await judge(target, input, () => answered++);
    const ms = threadCpuMs() - beforeMs;
    if (ms > longest.ms) longest = { run, ms, inputSize: sizeOf(input) };
    if (why !== undefined) crashes.push({ target: target.name, run, why, input: shown(input) });
  }
  return { target: target.name, runs: run - first, answered, crashes, longest };
}

function seedOf(seed: number, name: string, run: number): number {
  return createHash("sha256").update(`${seed} ${name} ${run}`).digest().readUInt32BE(0);
}

async function judge(target: Target, input: unknown, onAnswer: () => void): Promise<string | undefined> {
  try {
    const output = await target.run(input);
    onAnswer();
    const [size, bound] = [sizeOf(output), allowance + sizeOf(input) * (target.growth ?? 64)];
    if (size > bound) return `${size} bytes came of ${sizeOf(input)}`;
  } catch (error) {
    if (!(error instanceof FairleadError) && !(error instanceof RpcError))
      return error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (!(error instanceof RpcError) && error.code === "internal") return `internal: ${error.message}`;
    // It may say what was sent, where a character may be written in six, and not much more.
    if (error.message.length > allowance + 8 * sizeOf(input)) return `an error of ${error.message.length} characters`;
  }
  return polluted();
}

/** A key that every object would have from now on. */
function polluted(): string | undefined {
  for (const key in {}) {
    delete (Object.prototype as Record<string, unknown>)[key];
    return `Object.prototype has got ${JSON.stringify(key)}`;
  }
  return undefined;
}

function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Map || value instanceof Set) return sizeOf([...value]);
  return JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? String(one) : one))?.length ?? 0;
}

function shown(input: unknown): string {
  const text = input instanceof Uint8Array ? `hex ${Buffer.from(input).toString("hex")}` : JSON.stringify(input);
  return (text ?? String(input)).slice(0, 2000);
}
