/** Errors of our own: a process that throws, forgets a rejection, stands still, or is out of memory as its control group sees it. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, type Owner, ownerOf } from "../../../src/lib/index.ts";
import { eventually } from "../../traffic/mesh.ts";
import type { ChaosMesh } from "../mesh.ts";
import { type Course, type Fault, must, startsWithinMs } from "./fault.ts";

interface Child {
  readonly part: "control-plane" | "api";
  readonly what: string;
  pid(mesh: ChaosMesh): number;
}

const plane: Child = {
  part: "control-plane",
  what: "the control plane",
  pid: ({ supervisor }) => supervisor.controlPlanePid(),
};
const api: Child = { part: "api", what: "the API", pid: ({ supervisor }) => supervisor.apiPid() };

/** See `inside.mjs`. */
function act(mesh: ChaosMesh, child: Child, what: string): Owner {
  const owner = ownerOf(child.pid(mesh));
  if (!owner) throw new Error(`${child.what} does not run`);
  writeFileSync(join(mesh.dir, `act-${owner.pid}`), what);
  return owner;
}

const describe = ({ part, what }: Child): Pick<Fault, "holdMs" | "touches" | "needs"> & { readonly what: string } => ({
  ...{ what, holdMs: 0, touches: [part], needs: ["supervisor"] },
});

const untilNext = (mesh: ChaosMesh, child: Child, before: Owner): Promise<void> => {
  const isNext = (): boolean => {
    try {
      return child.pid(mesh) !== before.pid;
    } catch {
      return false;
    }
  };
  return eventually(isNext, `the next of ${child.what}`, startsWithinMs);
};

const dieOf = (name: string, how: string, child: Child, words: readonly [act: string, says: string]): Fault => ({
  ...describe(child),
  name,
  what: `${how} in ${child.what}`,
  expected: "it says so and ends; started again by its supervisor",
  async inject({ mesh, kill }): Promise<Course> {
    const log = join(mesh.data, `logs/${child.part}.log`);
    const [doing, says] = words;
    const before = act(mesh, child, doing);
    await eventually(() => !isAlive(before), `the end of ${child.what}`, startsWithinMs);
    kill(child.what, [before.pid]);
    return {
      async verify() {
        must(readFileSync(log, "utf8").includes(says), `${child.what} did not say what it ended of`);
        await untilNext(mesh, child, before);
      },
    };
  },
});

const blockSeconds = 5;

const block = (name: string, child: Child): Fault => ({
  ...describe(child),
  name,
  what: `the event loop of ${child.what} is blocked for ${blockSeconds} s`,
  expected: "slow is not dead: nobody replaces it",
  holdMs: blockSeconds * 1000,
  async inject({ mesh }): Promise<Course> {
    const before = act(mesh, child, `block ${blockSeconds * 1000}`);
    return { verify: () => must(isAlive(before), `${child.what} was replaced`) };
  },
});

/** Where it exists, and with what file, one limits memory. */
const groups = [
  ["/sys/fs/cgroup/memory", "memory.limit_in_bytes"],
  ["/sys/fs/cgroup", "memory.max"],
] as const;

const outOfMemory: Fault = {
  ...describe(plane),
  name: "out-of-memory",
  what: "the kernel ends the control plane, whose control group has no memory left",
  expected: "started again by its supervisor",
  lacks: () => (memoryGroups() ? undefined : "control groups that limit memory"),
  async inject({ mesh, kill }): Promise<Course> {
    const [root, file] = memoryGroups() ?? ["", ""];
    const group = join(root, `fairlead-chaos-${process.pid}`);
    mkdirSync(group, { recursive: true });
    writeFileSync(join(group, file), String(16 * 1024 * 1024));
    const pid = plane.pid(mesh);
    writeFileSync(join(group, "cgroup.procs"), String(pid));
    const before = act(mesh, plane, "grow 64");
    await eventually(() => !isAlive(before), `the end of ${plane.what}`, startsWithinMs);
    kill(plane.what, [pid]);
    return {
      async verify() {
        await untilNext(mesh, plane, before);
        rmdirSync(group);
      },
    };
  },
};

function memoryGroups(): (typeof groups)[number] | undefined {
  return groups.find(
    ([root, file]) => existsSync(join(root, file)) || existsSync(join(root, "cgroup.subtree_control")),
  );
}

export const insides: readonly Fault[] = [
  dieOf("throw", "an error that nobody catches, thrown by a timer", plane, ["throw", "thrown on purpose"]),
  dieOf("reject", "a rejection that nobody handles", api, ["reject", "rejected on purpose"]),
  block("block-control-plane", plane),
  block("block-api", api),
  outOfMemory,
];
