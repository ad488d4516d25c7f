/**
 * Nothing in; a machine that has far too little time for this process and all that it has started, out: for each processor
 * there are some busy processes that want it as much. Where there are control groups the rest of the machine does not
 * notice: the busy ones and we have little weight together.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

export interface Saturation {
  /** In words: how little there is. */
  readonly share: string;
  end(): void;
}

/** With what a mesh itself has to do, a load of about seven for each processor. */
const spinners = 4 * availableParallelism();
const spin = "for (;;);";

export function saturate(): Saturation {
  const group = enterGroup();
  const children: readonly ChildProcess[] = Array.from({ length: spinners }, () =>
    spawn(process.execPath, ["-e", spin], { stdio: "ignore" }),
  );
  return {
    share: `${spinners} busy processes beside it`,
    end() {
      for (const child of children) child.kill("SIGKILL");
      group?.leave();
    },
  };
}

const v1 = "/sys/fs/cgroup/cpu";
const v2 = "/sys/fs/cgroup";

function descendants(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").map(Number).filter(Boolean);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

/** Little weight beside others. */
function enterGroup(): { leave(): void } | undefined {
  const isV1 = existsSync(join(v1, "cpu.shares"));
  const parent = isV1 ? v1 : v2;
  const dir = join(parent, `fairlead-chaos-${process.pid}`);
  const settings = isV1 ? { "cpu.shares": "256" } : { "cpu.weight": "25" };
  const enter = (group: string, pid: number): void => writeFileSync(join(group, "cgroup.procs"), String(pid));
  try {
    mkdirSync(dir);
    for (const [file, value] of Object.entries(settings)) writeFileSync(join(dir, file), value);
    for (const pid of [process.pid, ...descendants(process.pid)]) enter(dir, pid);
  } catch {
    return undefined;
  }
  return {
    leave() {
      for (const pid of readFileSync(join(dir, "cgroup.procs"), "utf8").split("\n").map(Number))
        if (pid > 0) enter(parent, pid);
      // The busy ones may still be about to end.
      process.once("exit", () => rmdirSync(dir));
    },
  };
}
