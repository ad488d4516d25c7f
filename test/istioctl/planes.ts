/** An API in; the control plane that is asked on it out: Fairlead's own, or an istiod that was built elsewhere. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { controlPlane } from "../../src/apiserver/index.ts";
import { startDiscovery } from "../../src/control-plane/index.ts";
import { loadKubeconfig } from "../../src/kube/index.ts";
import { createLogger, createLogScopes, wait } from "../../src/lib/index.ts";
import { freePorts } from "../free-ports.ts";
import type { PodApi } from "../standalone/kubectl.ts";
import type { Plane, PlanePorts } from "./mesh.ts";

export async function startFairlead({ api }: PodApi): Promise<Plane> {
  const stop = new AbortController();
  const kubeconfig = join(api.dir, "plane");
  await api.server.writeKubeconfig(kubeconfig, controlPlane);
  const at = { host: "127.0.0.1", port: 0 };
  const logScopes = createLogScopes();
  const plane = await startDiscovery({
    access: await loadKubeconfig({ paths: [kubeconfig], env: {} }),
    addresses: { grpc: at, secureGrpc: at, monitoring: at, https: at, http: at, controlz: at },
    ...{ extraSecure: [], domain: "cluster.local", cluster: "Kubernetes", namespace: "istio-system" },
    ...{ revision: "default", identity: "istiod-1", analysis: false, debounceMs: 5, debounceMaxMs: 50 },
    injection: { nativeSidecars: "auto", compliancePolicy: "", platform: "" },
    ...{ log: createLogger({ write: () => {}, now: () => new Date(), scopes: logScopes }), logScopes },
    now: () => new Date(),
    monotonicMs: () => performance.now(),
    random: Math.random,
    signal: stop.signal,
  });
  const { grpc, secureGrpc, monitoring, http, https, controlz = at } = plane.addresses;
  return {
    ports: {
      ...{ grpc: grpc.port, secureGrpc: secureGrpc.port, monitoring: monitoring.port },
      ...{ http: http.port, https: https.port, controlz: controlz.port },
    },
    async close() {
      stop.abort();
      await plane.close();
    },
  };
}

/** `binary` is pilot-discovery. */
export async function startIstiod(binary: string, { api }: PodApi): Promise<Plane> {
  const [grpc = 0, secureGrpc = 0, monitoring = 0, http = 0, https = 0, controlz = 0] = await freePorts(6);
  const ports: PlanePorts = { grpc, secureGrpc, monitoring, http, https, controlz };
  const dir = mkdtempSync(join(tmpdir(), "fairlead-istiod-"));
  const flags = [
    ...["--kubeconfig", api.kubeconfig, "--grpcAddr", `127.0.0.1:${grpc}`, "--httpAddr", `127.0.0.1:${http}`],
    ...["--secureGRPCAddr", `127.0.0.1:${secureGrpc}`, "--httpsAddr", `127.0.0.1:${https}`],
    ...["--monitoringAddr", `127.0.0.1:${monitoring}`, "--ctrlz_port", String(controlz)],
  ];
  const child: ChildProcess = spawn(binary, ["discovery", ...flags], {
    cwd: dir,
    env: {
      ...{ PATH: process.env.PATH, HOME: dir, POD_NAME: "istiod-1", POD_NAMESPACE: "istio-system" },
      ...{ REVISION: "default", CLUSTER_ID: "Kubernetes", PILOT_ENABLE_ANALYSIS: "false" },
      ...{ PILOT_ENABLE_CONFIG_DISTRIBUTION_TRACKING: "false", ENABLE_LEADER_ELECTION: "false" },
      ...{ PILOT_ENABLE_GATEWAY_API: "true", PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER: "false" },
    },
    stdio: [
      "ignore",
      process.env.ISTIOD_LOG === undefined ? "ignore" : "inherit",
      process.env.ISTIOD_LOG === undefined ? "ignore" : "inherit",
    ],
  });
  const close = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGTERM");
      await once(child, "exit");
    }
    rmSync(dir, { recursive: true, force: true });
  };
  for (let left = 240; left > 0; left--) {
    const answer = await fetch(`http://127.0.0.1:${http}/ready`).catch(() => undefined);
    if (answer?.ok) return { ports, close };
    if (child.exitCode !== null) break;
    await wait(250);
  }
  await close();
  throw new Error("istiod does not become ready");
}
