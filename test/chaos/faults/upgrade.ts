/** Another version takes over: the control plane's with both side by side, the agents' one after the other. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../traffic/mesh.ts";
import type { ChaosMesh } from "../mesh.ts";
import { missingStreams } from "../whole.ts";
import { byItself, type Fault, lookUpsMeanwhile, signalAll, startsWithinMs } from "./fault.ts";

const besidePort = "15912";
const addressFlags = ["--grpcAddr", "--secureGRPCAddr", "--monitoringAddr", "--httpsAddr", "--httpAddr"];

interface Beside {
  readonly child: ChildProcess;
  readonly addresses: Readonly<Record<string, string>>;
}

/** A replica of the other version, on the same API. */
async function startBeside(mesh: ChaosMesh): Promise<Beside> {
  const boundFile = join(mesh.dir, "beside.json");
  rmSync(boundFile, { force: true });
  const child = spawn(
    process.execPath,
    [
      ...[mesh.bundles.otherEntry, "discovery", "--kubeconfig", join(mesh.data, "run/control-plane.kubeconfig")],
      ...addressFlags.flatMap((flag) => [flag, "127.0.0.1:0"]),
      ...["--extra-secure-addr", `${mesh.plan.hostAddress}:${besidePort}`, "--domain", "cluster.local"],
      ...["--bound-addresses", boundFile],
    ],
    { env: { PATH: process.env.PATH, POD_NAME: "istiod-beside", NODE_NO_WARNINGS: "1" }, stdio: "ignore" },
  );
  await eventually(() => existsSync(boundFile), "the other control plane to serve", startsWithinMs).catch(
    (error: unknown) => {
      child.kill("SIGKILL");
      throw error;
    },
  );
  return { child, addresses: JSON.parse(readFileSync(boundFile, "utf8")) };
}

/** New connections to the control plane go to the one beside, as a Service would send them; what is returned ends it. */
function redirect(mesh: ChaosMesh): () => void {
  const from = ["-i", `${mesh.plan.prefix}h`, "-p", "tcp", "--dport", "15012"];
  const rule = ["PREROUTING", ...from, "-j", "REDIRECT", "--to-ports", besidePort];
  execFileSync("iptables", ["-w", "-t", "nat", "-I", ...rule]);
  return () => {
    execFileSync("iptables", ["-w", "-t", "nat", "-D", ...rule]);
  };
}

export const upgrades: readonly Fault[] = [
  {
    name: "upgrade-control-plane",
    what: "a control plane of an older version beside the running one takes the proxies over, and hands them back",
    expected:
      "two versions serve one API at a time, and every proxy is in step with the other before it is handed back",
    ...{ holdMs: 0, touches: ["control-plane"], needs: ["supervisor", "api", "disk"] },
    async inject({ mesh }) {
      const beside = await startBeside(mesh);
      const restore = redirect(mesh);
      try {
        signalAll([mesh.supervisor.controlPlanePid()], "SIGTERM");
        const names = [...mesh.workloads.keys()];
        const haveMoved = async (): Promise<boolean> => (await missingStreams(beside.addresses, names)).length === 0;
        await eventually(haveMoved, "all proxies to be in step with the other control plane", startsWithinMs);
      } finally {
        restore();
        beside.child.kill("SIGTERM");
      }
      return byItself;
    },
  },
  {
    name: "upgrade-agents",
    what: "every agent is replaced by one of an older version, one after the other, and then by the newer again",
    expected: "each takes over the Envoy of the one before, or starts its own; names as after kill-client-agent",
    ...lookUpsMeanwhile,
    ...{ holdMs: 0, touches: ["server", "client", "bundle"], needs: ["supervisor", "disk"] },
    async inject({ mesh, pod, kill, isTouched }) {
      for (let round = 0; round < 2; round++) {
        mesh.bundles.swap();
        for (const name of mesh.workloads.keys()) {
          const was = pod(name);
          const before = mesh.pids(was, "agent");
          kill(`the agent of ${name}`, before, { pod: was, container: "istio-proxy" });
          const isNext = async (): Promise<boolean> => {
            const now = mesh.pids(was, "agent");
            if (now.length === 0 || now.some((pid) => before.includes(pid))) return false;
            return isTouched("control-plane", "api") || (await mesh.missing([name])).length === 0;
          };
          await eventually(isNext, `the next agent of ${name}`, startsWithinMs);
        }
      }
      return byItself;
    },
  },
];
