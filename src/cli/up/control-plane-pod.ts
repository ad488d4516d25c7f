/** The control plane as it runs here in; its Pod in the API, and connections to its ports, out. */

import { connect } from "node:net";
import { constants } from "node:os";
import type { KubeClient } from "../../kube/index.ts";
import { FairleadError, type Logger } from "../../lib/index.ts";
import { fairleadVersion } from "../../model/index.ts";
import { type Connect, keepControlPlanePod, type ProcessStatus } from "../../standalone/index.ts";
import { parseListenAddress } from "../listen-address.ts";
import type { Supervised } from "./supervised.ts";
import { podFolder } from "./workload-host.ts";

export interface ControlPlanePodOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly dir: string;
  readonly plane: Supervised;
  /** Of this machine, as Pods see it. */
  readonly address: string;
}

/** As in any cluster; here each may be bound elsewhere. */
const ports: ReadonlyMap<number, string> = new Map([
  [8080, "http"],
  [9876, "controlz"],
  [15010, "grpc"],
  [15012, "secureGrpc"],
  [15014, "monitoring"],
  [15015, "dashboard"],
  [15017, "https"],
]);

export function showControlPlane(options: ControlPlanePodOptions): Promise<() => Promise<void>> {
  const { plane, dir } = options;
  return keepControlPlanePod({
    ...options,
    now: () => new Date(),
    random: Math.random,
    podDir: podFolder(dir),
    image: `fairlead.dev/fairlead:${fairleadVersion}`,
    ports: [...ports.keys()],
    connect: (port) => connectTo(port, plane.addresses.get(ports.get(port) ?? "")),
    output: plane.output,
    look: () => lookAt(plane),
    pid: plane.pid,
    restart: plane.restart,
  });
}

function connectTo(port: number, address: string | undefined): ReturnType<Connect> {
  if (address === undefined)
    return Promise.reject(new FairleadError("unavailable", `the control plane does not listen on ${port}`));
  const at = parseListenAddress("", address, "127.0.0.1");
  return new Promise((resolve, reject) => {
    const socket = connect({ ...at, allowHalfOpen: true }, () => resolve(socket));
    socket.once("error", (cause) =>
      reject(new FairleadError("unavailable", "failed to connect to the control plane: connection refused", { cause })),
    );
  });
}

function lookAt(plane: Supervised): ProcessStatus {
  const { startedAt, isServing, last } = plane.life();
  const ended = last && {
    ...({ kind: "terminated", exitCode: exitCodeOf(last.status), signal: 0, message: "" } as const),
    ...({
      reason: last.status === 0 ? "Completed" : "Error",
      startedAt: last.startedAt,
      finishedAt: last.finishedAt,
    } as const),
  };
  return { state: { kind: "running", startedAt }, last: ended, restarts: plane.restarts(), ready: isServing };
}

const signals: ReadonlyMap<string, number> = new Map(Object.entries(constants.signals));

const exitCodeOf = (status: number | string): number =>
  typeof status === "number" ? status : 128 + (signals.get(status) ?? 0);
