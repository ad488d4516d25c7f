/** `kill -9` of every part that a mesh has. */
import { eventually } from "../../traffic/mesh.ts";
import type { Part } from "../parts.ts";
import { byItself, type Fault, type Heal, lookUpsMeanwhile, type Stage, startsWithinMs } from "./fault.ts";

function killPart(part: Part, expected: string, more: Pick<Fault, "allows" | "allowedMs"> = {}): Fault {
  return {
    ...more,
    name: `kill-${part}`,
    what: `kill -9 of the ${part} of one server`,
    ...{ expected, holdMs: 0, touches: ["server"] },
    async inject(stage) {
      const pod = stage.server();
      stage.kill(`the ${part} of ${pod.name}`, stage.mesh.pids(pod, part), pod);
      return byItself;
    },
  };
}

const childOfUp = (name: string, what: string, pid: (stage: Stage) => number, expected: string): Fault => ({
  name: `kill-${name}`,
  what: `kill -9 of ${what}`,
  ...{ expected, holdMs: 0, touches: [name], needs: ["supervisor"] },
  async inject(stage) {
    stage.kill(what, [pid(stage)]);
    return byItself;
  },
});

/** Its children live on until the next one has taken their place, but for those that are killed with it. */
const killSupervisor = (
  name: string,
  seconds: number,
  more: { readonly what: string; readonly expected: string; readonly pids: (stage: Stage) => readonly number[] },
): Fault => ({
  ...{ name, expected: more.expected },
  what: `kill -9 of \`fairlead up\`${more.what}; started again after ${seconds} s`,
  ...{ holdMs: seconds * 1000, touches: ["supervisor", "control-plane", "edge", "api"] },
  async inject(stage): Promise<Heal> {
    const { supervisor } = stage.mesh;
    const pids = more.pids(stage);
    stage.kill("the supervisor", [supervisor.pid(), ...pids]);
    return () => supervisor.start();
  },
});

export const kills: readonly Fault[] = [
  childOfUp(
    "control-plane",
    "the control plane",
    ({ mesh }) => mesh.supervisor.controlPlanePid(),
    "started again by its supervisor",
  ),
  childOfUp("api", "the API", ({ mesh }) => mesh.supervisor.apiPid(), "started again by its supervisor"),
  childOfUp("edge", "DNS and the ways in", ({ mesh }) => mesh.supervisor.edgePid(), "started again by its supervisor"),
  killSupervisor("kill-supervisor", 3, {
    what: "",
    expected: "its children go on, and are replaced by those of the next one",
    pids: () => [],
  }),
  killSupervisor("api-away", 20, {
    what: " and of the API",
    expected: "workloads go on, and certificates of 30 s are renewed meanwhile",
    pids: ({ mesh }) => [mesh.supervisor.apiPid()],
  }),
  killSupervisor("kill-all", 10, {
    what: ", the API, the control plane, and DNS and the ways in",
    expected: "workloads go on without any of them, and take part again",
    pids: ({ mesh: { supervisor } }) => [supervisor.apiPid(), supervisor.controlPlanePid(), supervisor.edgePid()],
  }),
  killPart("agent", "Envoy goes on without it; started again"),
  {
    name: "kill-client-agent",
    what: "kill -9 of the agent of the client, which answers its questions about names",
    expected: "names are looked up again once the next one is there; started again",
    ...lookUpsMeanwhile,
    ...{ holdMs: 0, touches: ["client"] },
    async inject(stage) {
      const pod = stage.pod("client");
      stage.kill("the agent of the client", stage.mesh.pids(pod, "agent"), pod);
      return byItself;
    },
  },
  // Until it is out of the endpoints all three tries may choose it: the one without requests is the least loaded.
  killPart("envoy", "out of the endpoints within a second; started again", {
    ...{ allows: /sent to what was left of the envoy.* (UF|URX)/, allowedMs: 3_000 },
  }),
  // Its own proxy answers 503 for it, which Istio's default retries leave alone.
  killPart("app", "refused by its proxy until it is out of the endpoints; started again", {
    ...{ allows: /sent to what was left of the app/, allowedMs: 3_000 },
  }),
  {
    name: "kill-runner",
    what: "kill -9 of the `fairlead run` of one server; started again after 3 s",
    expected: "its process and proxy go on until the next runner has taken their place",
    // The next Pod has another address, which endpoints that are written by hand do not know.
    allows: /^churned: 503/,
    ...{ holdMs: 3_000, touches: ["server"] },
    async inject(stage): Promise<Heal> {
      const pod = stage.server();
      const workload = stage.mesh.workloads.get(pod.name);
      if (!workload) throw new Error(`nobody runs ${pod.name}`);
      stage.kill(`the runner of ${pod.name}`, [workload.pid()]);
      return async () => {
        workload.start();
        // Until then all looks well: the Pod of the dead one is still there.
        const isReplaced = async (): Promise<boolean> => {
          const now = await stage.mesh.pod(pod.name).catch(() => pod);
          return now.uid !== pod.uid;
        };
        await eventually(isReplaced, `the next ${pod.name}`, startsWithinMs);
      };
    },
  },
];
