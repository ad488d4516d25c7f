/** Requests in, what came of them out: made by a process inside a Pod's network namespace, where capture sees them. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

export interface HttpCall {
  readonly address: string;
  readonly port: number;
  /** The Host header. */
  readonly host?: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export interface Answer {
  /** 0 where there was no answer. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  readonly error: string;
  readonly ms: number;
}

export interface ConnectCall {
  readonly address: string;
  readonly port: number;
  /** Speaks TLS and names this server. */
  readonly sni?: string;
  readonly alpn?: readonly string[];
  /** Sent once connected; the answer is read until the other side ends or falls silent. */
  readonly send?: string;
}

export interface LoadSpec extends HttpCall {
  readonly concurrency: number;
  /** Pause of each of them between two requests. */
  readonly pauseMs?: number;
}

export interface LoadReport {
  /** Every answer by `status body`; without a body, by what went wrong. */
  readonly answers: Readonly<Record<string, number>>;
  /** The first of those that were not 200, in words. */
  readonly failures: readonly string[];
}

/** How many were answered, and how many of them otherwise than by 200. */
export function countAnswers({ answers }: LoadReport): { readonly requests: number; readonly failed: number } {
  const counts = Object.entries(answers);
  const sum = (of: readonly (readonly [string, number])[]): number => of.reduce((all, [, count]) => all + count, 0);
  return { requests: sum(counts), failed: sum(counts.filter(([answer]) => !answer.startsWith("200 "))) };
}

export interface Load {
  report(): Promise<LoadReport>;
  stop(): Promise<LoadReport>;
}

export interface Caller {
  request(call: HttpCall): Promise<Answer>;
  requests(call: HttpCall, count: number, concurrency?: number): Promise<readonly Answer[]>;
  connect(call: ConnectCall): Promise<{ readonly received: string; readonly error: string }>;
  /** Opens connections that say nothing; resolves when all are open. */
  silent(address: string, port: number, count: number): Promise<{ readonly open: number }>;
  /** Constant traffic until it is stopped. */
  load(spec: LoadSpec): Promise<Load>;
  stop(): void;
}

export type Order =
  | { readonly kind: "requests"; readonly call: HttpCall; readonly count: number; readonly concurrency: number }
  | { readonly kind: "connect"; readonly call: ConnectCall }
  | { readonly kind: "silent"; readonly address: string; readonly port: number; readonly count: number }
  | { readonly kind: "load"; readonly spec: LoadSpec }
  | { readonly kind: "report"; readonly load: number; readonly stop: boolean };

export function startCaller(namespace: string): Caller {
  const child: ChildProcess = spawn(
    "nsenter",
    [`--net=${namespace}`, "--", process.execPath, join(import.meta.dirname, "caller-process.ts")],
    { stdio: ["ignore", "inherit", "inherit", "ipc"], env: { PATH: process.env.PATH, NODE_NO_WARNINGS: "1" } },
  );
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  let last = 0;
  child.on("message", ({ id, value }: { id: number; value: never }) => {
    waiting.get(id)?.resolve(value);
    waiting.delete(id);
  });
  child.on("exit", (status) => {
    for (const { reject } of waiting.values()) reject(new Error(`the caller ended with ${status}`));
  });
  const ask = <T>(order: Order): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      child.send({ id, order });
    });
  const requests = (call: HttpCall, count: number, concurrency = 8): Promise<readonly Answer[]> =>
    ask({ kind: "requests", call, count, concurrency });
  return {
    requests,
    async request(call) {
      const [answer] = await requests(call, 1, 1);
      if (!answer) throw new Error("the caller gave no answer");
      return answer;
    },
    connect: (call) => ask({ kind: "connect", call }),
    silent: (address, port, count) => ask({ kind: "silent", address, port, count }),
    async load(spec) {
      const load = await ask<number>({ kind: "load", spec });
      return {
        report: () => ask({ kind: "report", load, stop: false }),
        stop: () => ask({ kind: "report", load, stop: true }),
      };
    },
    stop: () => child.kill("SIGKILL"),
  };
}
