/**
 * Objects in; a mesh of gRPC applications without proxies out. Real: the control plane from objects to ADS, the CA, the
 * agents with their bootstrap files, sockets and certificate files, and gRPC's own xDS client. The API is objects in memory.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, httpStatus } from "../../src/agent/testing.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { startAgentPlane } from "../agent-plane.ts";
import type { ControlPlane } from "../traffic/control-plane.ts";
import type { Order, Outcome } from "./app-process.ts";

export interface GrpcApp {
  readonly folder: string;
  /** Of a client: what comes of one call. */
  call(target: string, method: string, headers?: Readonly<Record<string, string>>): Promise<Outcome>;
  /** Resolves with the first message of the process that is as wanted, one that has come already included. */
  told(wanted: (message: Readonly<Record<string, unknown>>) => boolean): Promise<Readonly<Record<string, unknown>>>;
}

export interface GrpcMesh {
  readonly controlPlane: ControlPlane;
  /** An agent without Envoy, and beside it the application with these words. */
  start(
    account: string,
    address: string,
    labels: Readonly<Record<string, string>>,
    words: readonly string[],
  ): Promise<GrpcApp>;
  close(): Promise<void>;
}

export const namespace = "shop";

/** What the template `grpc-agent` gives the agent's container. */
const env = {
  ISTIO_META_GENERATOR: "grpc",
  OUTPUT_CERTS: "var/lib/istio/data",
  DISABLE_ENVOY: "true",
  ISTIO_META_DNS_CAPTURE: "false",
};

export async function startGrpcMesh(objects: readonly KubeObject[]): Promise<GrpcMesh> {
  const root = mkdtempSync(join(tmpdir(), "fl-grpc-"));
  const plane = await startAgentPlane(objects, namespace);
  const apps: ChildProcess[] = [];

  const startApp = (folder: string, words: readonly string[]): GrpcApp => {
    const bootstrap = join(folder, "etc/istio/proxy/grpc-bootstrap.json");
    const child = fork(join(import.meta.dirname, "app-process.ts"), words, {
      env: { ...process.env, GRPC_XDS_BOOTSTRAP: bootstrap, GRPC_XDS_EXPERIMENTAL_RBAC: "true" },
      execArgv: ["--no-warnings"],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    apps.push(child);
    return appOf(child, folder);
  };

  return {
    controlPlane: plane.controlPlane,
    async start(account, address, labels, words) {
      const folder = join(root, account);
      const status = await plane.startAgent(folder, { account, address, labels, type: "sidecar", env });
      await eventually(
        () => httpStatus(status, "/healthz/ready"),
        (answer) => answer.status === 200,
      );
      return startApp(folder, words);
    },
    async close() {
      const gone = apps.map((app) => new Promise((done) => (app.exitCode === null ? app.once("exit", done) : done(0))));
      for (const app of apps) app.kill("SIGKILL");
      await Promise.all(gone);
      await plane.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function appOf(child: ChildProcess, folder: string): GrpcApp {
  const messages: Readonly<Record<string, unknown>>[] = [];
  const waiting = new Set<() => void>();
  child.on("message", (message: Readonly<Record<string, unknown>>) => {
    messages.push(message);
    for (const look of waiting) look();
  });
  const told: GrpcApp["told"] = (wanted) =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = messages.find(wanted);
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  let last = 0;
  return {
    folder,
    told,
    async call(target, method, headers = {}) {
      const id = ++last;
      child.send({ id, target, method, headers, timeoutMs: 20_000 } satisfies Order);
      return (await told((message) => message.id === id)) as unknown as Outcome;
    },
  };
}
