/** Certificates that live for seconds. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Fault } from "./fault.ts";

const fewest = 4;

export const certificates: Fault = {
  name: "brief-certificates",
  what: "45 s of requests to two workloads whose certificates live for 30 s",
  expected: `renewed at least ${fewest} times`,
  ...{ holdMs: 45_000, touches: ["brief"], needs: ["control-plane", "disk"] },
  async inject({ mesh }) {
    const log = join(mesh.data, "logs/control-plane.log");
    const issued = (): number => readFileSync(log, "utf8").split(/certificate issued.*sa\/brief/).length - 1;
    const before = issued();
    return () => {
      const renewals = issued() - before;
      if (renewals < fewest) throw new Error(`only ${renewals} certificates were issued`);
    };
  },
};
