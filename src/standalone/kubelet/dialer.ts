/** A network namespace in; connections to its own loopback out, as sockets of this process. */
import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { FairleadError, isRecord } from "../../lib/index.ts";
import type { Connect } from "./port-forward.ts";

export interface Dialer {
  readonly connect: Connect;
  close(): void;
}

const connectMs = 10_000;
/** A process waits for so long for the next that is asked for. */
const idleMs = 15_000;

/**
 * A process cannot look into another network namespace, but one inside can connect there and hand the socket over: what
 * is forwarded then goes through no further process. It reads nothing itself, or that would be lost.
 */
const script = `
const { connect } = require("node:net");
const dial = (id, port, [host, ...others]) => {
  const socket = connect({ host, port }).pause();
  socket.once("error", (error) => (others.length > 0 ? dial(id, port, others) : process.send({ id, error: error.code })));
  socket.once("connect", () => process.send({ id }, socket));
};
process.on("message", ({ id, port }) => dial(id, port, ["127.0.0.1", "::1"]));
process.on("disconnect", () => process.exit());
`;

interface Waiting {
  resolve(socket: Socket): void;
  reject(error: Error): void;
}

export function createDialer(namespace: string): Dialer {
  let helper: { readonly child: ChildProcess; readonly waiting: Map<number, Waiting> } | undefined;
  let nextId = 0;
  let idle: NodeJS.Timeout | undefined;

  const end = (): void => {
    helper?.child.kill("SIGKILL");
    helper = undefined;
    clearTimeout(idle);
  };
  const start = (): NonNullable<typeof helper> => {
    const child = spawn("nsenter", [`--net=${namespace}`, "--", process.execPath, "-e", script], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      env: { PATH: process.env.PATH },
    });
    const waiting = new Map<number, Waiting>();
    const started = { child, waiting };
    const fail = (): void => {
      if (helper === started) end();
      for (const one of waiting.values()) one.reject(new FairleadError("unavailable", "the Pod's network is gone"));
      waiting.clear();
    };
    child.on("error", fail).on("exit", fail);
    child.on("message", (message, handle) => {
      const { id, error } = isRecord(message) ? message : {};
      const socket = handle instanceof Socket ? handle : undefined;
      const asked = typeof id === "number" ? waiting.get(id) : undefined;
      if (asked && socket) asked.resolve(socket);
      else if (asked) asked.reject(refusal(error));
      else socket?.destroy();
    });
    return started;
  };
  return {
    connect(port) {
      helper ??= start();
      const { child, waiting } = helper;
      const id = nextId++;
      clearTimeout(idle);
      const late = Promise.withResolvers<Socket>();
      const timer = setTimeout(() => late.reject(refusal("ETIMEDOUT")), connectMs);
      waiting.set(id, late);
      child.send({ id, port });
      return late.promise
        .then((socket) => {
          // Either side may have said all while the other still speaks.
          socket.allowHalfOpen = true;
          return socket;
        })
        .finally(() => {
          clearTimeout(timer);
          waiting.delete(id);
          clearTimeout(idle);
          if (waiting.size === 0) idle = setTimeout(end, idleMs).unref();
        });
    },
    close: end,
  };
}

function refusal(code: unknown): FairleadError {
  const why = code === "ECONNREFUSED" ? "connection refused" : code === "ETIMEDOUT" ? "timed out" : String(code);
  return new FairleadError("unavailable", `failed to connect to localhost inside the Pod: ${why}`);
}
