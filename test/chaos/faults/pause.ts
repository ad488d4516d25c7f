/** Parts that get no processor for a while: stopped, then continued. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, type Owner, ownerOf } from "../../../src/lib/index.ts";
import type { Part } from "../parts.ts";
import { type Course, type Fault, must, type Stage, signalAll } from "./fault.ts";

interface Paused {
  readonly name: string;
  readonly what: string;
  readonly seconds: number;
  readonly touches: readonly string[];
  readonly needs?: readonly string[];
  readonly expected: string;
  pids(stage: Stage): readonly number[];
}

const described = ({ name, what, seconds, touches, needs = [], expected }: Paused): Omit<Fault, "inject"> => ({
  ...{ name, expected, touches, needs },
  what: `SIGSTOP of ${what} for ${seconds} s`,
  holdMs: seconds * 1000,
});

function stop(pids: readonly number[]): readonly Owner[] {
  const owners = pids.flatMap((pid) => ownerOf(pid) ?? []);
  signalAll(pids, "SIGSTOP");
  return owners;
}

/** Not for so long that anybody should replace it. */
const pause = (paused: Paused): Fault => ({
  ...described(paused),
  async inject(stage): Promise<Course> {
    const pids = paused.pids(stage);
    const stopped = stop(pids);
    return {
      end: () => signalAll(pids, "SIGCONT"),
      verify: () => must(stopped.every(isAlive), `${paused.what} was replaced`),
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

/** For so long that its supervisor must replace it. */
const hang = (paused: Paused): Fault => ({
  ...described(paused),
  async inject(stage): Promise<Course> {
    const log = (): string => readFileSync(join(stage.mesh.dir, "up.log"), "utf8");
    const { length } = log();
    const hung = stop(paused.pids(stage));
    return {
      // It is gone by now: there is nothing to continue.
      end() {
        const said = log().slice(length);
        must(said.includes(`${paused.what} has not answered for`), `nobody was told that ${paused.what} hangs`);
        must(said.includes(", and is replaced") && !hung.some(isAlive), `${paused.what} was not replaced`);
      },
    };
  },
});

export const pauses: readonly Fault[] = [
  pause({
    name: "pause-control-plane",
    what: "the control plane",
    ...{ seconds: 8, touches: ["control-plane"], expected: "nobody notices" },
    pids: ({ mesh }) => [mesh.supervisor.controlPlanePid()],
  }),
  hang({
    name: "hang-control-plane",
    what: "the control plane",
    ...{ seconds: 45, touches: ["control-plane", "brief"], needs: ["supervisor"] },
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
    name: "hang-supervisor",
    what: "`fairlead up`",
    ...{ seconds: 60, touches: ["supervisor"], needs: ["api", "server", "client"] },
    expected: "the mesh goes on without it; nothing that lives is taken for dead when it is back",
    pids: ({ mesh }) => [mesh.supervisor.pid()],
  }),
  pause({
    name: "pause-api",
    what: "the API",
    ...{ seconds: 8, touches: ["api"], expected: "changes are late, requests are not" },
    pids: ({ mesh }) => [mesh.supervisor.apiPid()],
  }),
  hang({
    name: "hang-api",
    what: "the API",
    ...{ seconds: 45, touches: ["api", "brief"], needs: ["supervisor"] },
    expected: "told of after 10 s, replaced after 30 s",
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
