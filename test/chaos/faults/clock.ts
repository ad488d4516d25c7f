/** Clocks that jump. The kernel has namespaces for the clocks since boot only, set when a process starts; the wall clock is moved inside our own processes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { wait } from "../../../src/lib/index.ts";
import { byItself, type Course, type Fault } from "./fault.ts";

const daySeconds = "86400";

const stepWall = (name: string, seconds: number): Fault => ({
  name,
  what: `the wall clock of API and control plane is off by ${seconds} s, for 8 s`,
  expected: "leases, tokens and certificates within the tolerance of 2 minutes go on",
  // Certificates that are younger or older than their whole life are refused by those whose clock is right.
  allows: /^brief: .*(CERTIFICATE|certificate)/,
  ...{ holdMs: 8_000, touches: ["clock", "supervisor", "brief"] },
  async inject({ mesh }) {
    const file = join(mesh.dir, "clock");
    writeFileSync(file, String(seconds * 1000));
    return { end: () => writeFileSync(file, "0") };
  },
});

export const clocks: readonly Fault[] = [
  stepWall("clock-forward", 90),
  stepWall("clock-back", -90),
  {
    name: "clock-since-boot",
    what: "`fairlead up` is killed and started in a time namespace whose clocks since boot are a day ahead; then back",
    expected: "those who live are not taken for dead",
    ...{ holdMs: 0, touches: ["supervisor", "control-plane", "edge", "api", "clock"] },
    async inject({ mesh, kill }): Promise<Course> {
      const restart = async (under: readonly string[]): Promise<void> => {
        kill("the supervisor", [mesh.supervisor.pid()]);
        await mesh.supervisor.start(under);
      };
      await restart(["unshare", "--time", "--monotonic", daySeconds, "--boottime", daySeconds, "--fork", "--"]);
      await wait(3_000);
      await restart([]);
      return byItself;
    },
  },
];
