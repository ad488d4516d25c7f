/** A network namespace in; a process in it out that plays an application and sends requests. */
import { spawn } from "node:child_process";
import { join } from "node:path";

export interface ServeOrder {
  readonly kind: "serve";
  readonly name: string;
  readonly address: string;
  readonly cert: string;
  readonly key: string;
  readonly ports: {
    readonly http: number;
    readonly https: number;
    readonly tcp: readonly number[];
    readonly any: number;
    readonly grpc: number;
  };
}

interface Target {
  readonly address: string;
  readonly port: number;
}

export type PodOrder =
  | ServeOrder
  | (Target & {
      readonly kind: "http";
      readonly host: string;
      readonly method: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      /** Over TLS. */
      readonly sni?: string;
    })
  | (Target & {
      readonly kind: "grpc";
      readonly host: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
    })
  | (Target & { readonly kind: "tcp"; readonly send: string; readonly sni?: string });

export type PodAnswer =
  | { readonly kind: "serving" }
  | {
      readonly kind: "http";
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly localPort: number;
      readonly error: string;
    }
  | { readonly kind: "tcp"; readonly received: string; readonly error: string; readonly localPort: number };

export interface PodProcess {
  ask(order: PodOrder): Promise<PodAnswer>;
  stop(): void;
}

/** Without a namespace it runs on this machine. */
export function startPod(network: string | undefined): PodProcess {
  const file = join(import.meta.dirname, "pod-process.ts");
  const [command, args] =
    network === undefined
      ? [process.execPath, [file]]
      : ["nsenter", [`--net=${network}`, "--", process.execPath, file]];
  const child = spawn(command, args, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { PATH: process.env.PATH, NODE_NO_WARNINGS: "1" },
  });
  const waiting = new Map<number, (answer: PodAnswer) => void>();
  let last = 0;
  child.on("message", ({ id, answer }: { id: number; answer: PodAnswer }) => {
    waiting.get(id)?.(answer);
    waiting.delete(id);
  });
  return {
    ask: (order) =>
      new Promise((resolve) => {
        waiting.set(++last, resolve);
        child.send({ id: last, order });
      }),
    stop: () => child.kill("SIGKILL"),
  };
}
