/** `kill -9` of every part that a mesh has. */
import { isAlive, type Owner, ownerOf } from "../../../src/lib/index.ts";
import { eventually } from "../../traffic/mesh.ts";
import { notReadyThroughout, podStates } from "../containers.ts";
import { watchEndpoint } from "../endpoints.ts";
import type { ChaosPod } from "../mesh.ts";
import type { Part } from "../parts.ts";
import { type Course, type Fault, lookUpsMeanwhile, must, type Stage, startsWithinMs } from "./fault.ts";

/** They take a dead server out of the endpoints, and tell the proxies of it. */
const removers = ["supervisor", "api", "disk", "control-plane"];
/** A machine without time takes this long for what is done in a second. */
const outWithinMs = 10_000;

interface KilledPart {
  readonly part: Part;
  readonly expected: string;
  readonly allows: RegExp;
}

/** Without it nobody can answer: the Pod must be out of the endpoints until it is back. */
const killServing = ({ part, expected, allows }: KilledPart): Fault => ({
  ...{ name: `kill-${part}`, what: `kill -9 of the ${part} of one server`, expected },
  ...{ allows, allowedMs: 3_000, allowedLonger: removers },
  ...{ holdMs: 0, touches: ["server"] },
  async inject(stage): Promise<Course> {
    const pod = stage.server();
    const canBeSeen = !stage.isTouched(...removers);
    const watched = canBeSeen ? await watchEndpoint(stage.mesh.api, pod) : undefined;
    const container = part === "app" ? "app" : "istio-proxy";
    stage.kill(`the ${part} of ${pod.name}`, stage.mesh.pids(pod, part), { pod, container });
    if (!watched) return {};
    return {
      async verify() {
        const ms = await watched.notReadyAfterMs();
        must(ms !== undefined && ms < outWithinMs, `${pod.name} stayed in the endpoints`);
        stage.tell(`${pod.name} was out of the endpoints after ${ms?.toFixed(0)} ms`);
      },
    };
  },
});

/** Envoy, with certificate and configuration, is the next one's. */
function killAgent(stage: Stage, what: string, pod: ChaosPod): Course {
  const { mesh } = stage;
  const [envoy, before] = [mesh.pids(pod, "envoy"), mesh.pids(pod, "agent")];
  stage.kill(`the agent of ${what}`, before, { pod, container: "istio-proxy" });
  return {
    async verify() {
      const isNext = (): boolean => {
        const now = mesh.pids(pod, "agent");
        return now.length > 0 && !now.some((pid) => before.includes(pid));
      };
      await eventually(isNext, `the next agent of ${what}`, startsWithinMs);
      must(String(mesh.pids(pod, "envoy")) === String(envoy), `the Envoy of ${what} did not go on`);
    },
  };
}

const childOfUp = (name: string, what: string, pid: (stage: Stage) => number): Fault => ({
  name: `kill-${name}`,
  what: `kill -9 of ${what}`,
  expected: "started again by its supervisor",
  ...{ holdMs: 0, touches: [name], needs: ["supervisor"] },
  async inject(stage): Promise<Course> {
    const before = pid(stage);
    stage.kill(what, [before]);
    const isNext = (): boolean => {
      try {
        return pid(stage) !== before;
      } catch {
        return false;
      }
    };
    return { verify: () => eventually(isNext, `the next ${name}`, startsWithinMs) };
  },
});

/** The Pods that stay in the mesh while parts of it are away were ready all the time, but where others were killed too. */
async function stayReady(stage: Stage): Promise<() => Promise<void>> {
  const before = await podStates(stage.mesh.api);
  return async () => {
    if (stage.isTouched("server", "client", "brief")) return;
    const names = notReadyThroughout(before, await podStates(stage.mesh.api));
    must(names.length === 0, `${names.join(", ")} did not stay ready`);
  };
}

/** Its children live on until the next one has taken their place, but for those that are killed with it. */
const killSupervisor = (
  name: string,
  seconds: number,
  more: Pick<Fault, "expected" | "allows"> & {
    readonly what: string;
    readonly pids: (stage: Stage) => readonly number[];
  },
): Fault => ({
  ...{ name, expected: more.expected, ...(more.allows ? { allows: more.allows } : {}) },
  what: `kill -9 of \`fairlead up\`${more.what}; started again after ${seconds} s`,
  ...{ holdMs: seconds * 1000, touches: ["supervisor", "control-plane", "edge", "api"] },
  async inject(stage): Promise<Course> {
    const { supervisor } = stage.mesh;
    const pids = more.pids(stage);
    const all = [supervisor.pid(), supervisor.apiPid(), supervisor.controlPlanePid(), supervisor.edgePid()];
    const before = all.map(ownerOf).filter((owner): owner is Owner => owner !== undefined);
    const stayed = await stayReady(stage);
    stage.kill("the supervisor", [supervisor.pid(), ...pids]);
    return {
      end: () => supervisor.start(),
      async verify() {
        must(!before.some(isAlive), "children of the supervisor that was killed live beside those of the next one");
        await stayed();
      },
    };
  },
});

export const kills: readonly Fault[] = [
  childOfUp("control-plane", "the control plane", ({ mesh }) => mesh.supervisor.controlPlanePid()),
  childOfUp("api", "the API", ({ mesh }) => mesh.supervisor.apiPid()),
  childOfUp("edge", "DNS and the ways in", ({ mesh }) => mesh.supervisor.edgePid()),
  killSupervisor("kill-supervisor", 3, {
    what: "",
    expected: "its children go on, and are replaced by those of the next one; every Pod stays ready",
    pids: () => [],
  }),
  killSupervisor("api-away", 20, {
    what: " and of the API",
    expected: "workloads go on; every Pod stays ready",
    pids: ({ mesh }) => [mesh.supervisor.apiPid()],
  }),
  killSupervisor("api-away-long", 50, {
    what: " and of the API",
    expected: "longer than a lease lasts: workloads go on; every Pod stays ready; certificates of 30 s run out",
    // The API is asked before a certificate is renewed: an hour's or a day's would outlive it.
    allows: /^brief: .*(CERTIFICATE|certificate)/,
    pids: ({ mesh }) => [mesh.supervisor.apiPid()],
  }),
  killSupervisor("kill-all", 10, {
    what: ", the API, the control plane, and DNS and the ways in",
    expected: "workloads go on without any of them, and take part again; every Pod stays ready",
    pids: ({ mesh: { supervisor } }) => [supervisor.apiPid(), supervisor.controlPlanePid(), supervisor.edgePid()],
  }),
  {
    name: "kill-agent",
    what: "kill -9 of the agent of one server",
    expected: "Envoy goes on without it; started again",
    ...{ holdMs: 0, touches: ["server"] },
    async inject(stage) {
      const pod = stage.server();
      return killAgent(stage, pod.name, pod);
    },
  },
  {
    name: "kill-client-agent",
    what: "kill -9 of the agent of the client, which answers its questions about names",
    expected: "Envoy goes on without it; names are looked up again once the next one is there",
    ...lookUpsMeanwhile,
    ...{ holdMs: 0, touches: ["client"] },
    inject: async (stage) => killAgent(stage, "the client", stage.pod("client")),
  },
  // Until it is out of the endpoints all three tries may choose it: the one without requests is the least loaded.
  killServing({
    part: "envoy",
    expected: "out of the endpoints within a second; started again",
    allows: /sent to what was left of the envoy.* (UF|URX)/,
  }),
  // Its own proxy answers 503 for it, which Istio's default retries leave alone.
  killServing({
    part: "app",
    expected: "refused by its proxy until it is out of the endpoints; started again",
    allows: /sent to what was left of the app/,
  }),
  {
    name: "kill-runner",
    what: "kill -9 of the `fairlead run` of one server; started again after 3 s",
    expected: "its process and proxy go on until the next runner has taken their place",
    // The next Pod has another address, which endpoints that are written by hand do not know.
    allows: /^churned: 503/,
    ...{ holdMs: 3_000, touches: ["server"] },
    async inject(stage): Promise<Course> {
      const pod = stage.server();
      const workload = stage.mesh.workloads.get(pod.name);
      if (!workload) throw new Error(`nobody runs ${pod.name}`);
      stage.kill(`the runner of ${pod.name}`, [workload.pid()], { replaces: pod.name });
      return {
        async end() {
          // Until then all looks well: the Pod of the dead one is still there.
          const isReplaced = async (): Promise<boolean> => {
            // Without a mesh there is nothing to join: it says so and ends.
            if (workload.hasEnded()) workload.start();
            const now = await stage.mesh.pod(pod.name).catch(() => pod);
            return now.uid !== pod.uid;
          };
          await eventually(isReplaced, `the next ${pod.name}`, startsWithinMs);
        },
      };
    },
  },
];
