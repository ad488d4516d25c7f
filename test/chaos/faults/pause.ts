/** Parts that get no processor for a while: stopped, then continued. */
import type { Part } from "../parts.ts";
import { type Fault, type Stage, signalAll } from "./fault.ts";

interface Paused {
  readonly name: string;
  readonly what: string;
  readonly seconds: number;
  readonly touches: readonly string[];
  readonly needs?: readonly string[];
  readonly expected: string;
  /** Replaced while it was stopped: there is nothing to continue. */
  readonly replaced?: boolean;
  pids(stage: Stage): Promise<readonly number[]> | readonly number[];
}

const pause = ({ name, what, seconds, touches, needs = [], expected, replaced, pids }: Paused): Fault => ({
  ...{ name, expected, touches, needs },
  what: `SIGSTOP of ${what} for ${seconds} s`,
  ...{ holdMs: seconds * 1000 },
  async inject(stage) {
    const stopped = await pids(stage);
    signalAll(stopped, "SIGSTOP");
    return () => {
      if (!replaced) signalAll(stopped, "SIGCONT");
    };
  },
});

const pausePart = (part: Part, seconds: number, expected: string): Fault =>
  pause({
    name: `pause-${part}`,
    what: `the ${part} of one server`,
    ...{ seconds, touches: ["server"], expected },
    pids: (stage) => stage.mesh.pids(stage.server(), part),
  });

export const pauses: readonly Fault[] = [
  pause({
    name: "pause-control-plane",
    what: "the control plane",
    ...{ seconds: 8, touches: ["control-plane"], expected: "nobody notices" },
    pids: ({ mesh }) => [mesh.supervisor.controlPlanePid()],
  }),
  pause({
    name: "hang-control-plane",
    what: "the control plane",
    ...{ seconds: 45, touches: ["control-plane", "brief"], needs: ["supervisor"], replaced: true },
    expected: "told of after 10 s, replaced after 30 s",
    pids: ({ mesh }) => [mesh.supervisor.controlPlanePid()],
  }),
  pause({
    name: "pause-supervisor",
    what: "`fairlead up`",
    ...{ seconds: 8, touches: ["supervisor"], expected: "nobody notices" },
    pids: ({ mesh }) => [mesh.supervisor.pid()],
  }),
  pause({
    name: "pause-api",
    what: "the API",
    ...{ seconds: 8, touches: ["api"], expected: "changes are late, requests are not" },
    pids: ({ mesh }) => [mesh.supervisor.apiPid()],
  }),
  pause({
    name: "dns-away",
    what: "DNS and the ways in",
    ...{ seconds: 8, touches: ["edge"], expected: "agents answer for the mesh's names" },
    pids: ({ mesh }) => [mesh.supervisor.edgePid()],
  }),
  pausePart("agent", 8, "Envoy goes on without it"),
  pausePart("envoy", 4, "requests wait, and are answered"),
  pausePart("app", 4, "requests wait, and are answered"),
];
