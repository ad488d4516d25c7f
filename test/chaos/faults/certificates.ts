/** Certificates that live for seconds. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../traffic/mesh.ts";
import type { ChaosMesh } from "../mesh.ts";
import { type Fault, must } from "./fault.ts";

const fewest = 4;
/** A control plane whose clock was ahead gave out some that live for longer. */
const oldOnesMs = 180_000;

/** Since then; a log that grows long is begun anew, and the one before is kept. */
function issuedSince(mesh: ChaosMesh, since: number): number {
  const log = join(mesh.data, "logs/control-plane.log");
  const files = [`${log}.1`, log].filter((file) => existsSync(file));
  const text = files.map((file) => readFileSync(file, "utf8")).join("");
  const times = [...text.matchAll(/^(\S+)\t.*certificate issued.*sa\/brief/gm)].map(([, at = ""]) => Date.parse(at));
  return times.filter((at) => at >= since).length;
}

export const certificates: Fault = {
  name: "brief-certificates",
  what: "45 s of requests to two workloads whose certificates live for 30 s",
  expected: `renewed at least ${fewest} times`,
  ...{ holdMs: 45_000, touches: ["brief", "clock"], needs: ["control-plane", "api", "disk"] },
  async inject({ mesh, tell }) {
    const asked = Date.now();
    await eventually(() => issuedSince(mesh, asked) > 0, "a certificate to be renewed", oldOnesMs);
    const since = Date.now();
    return {
      end() {
        const renewals = issuedSince(mesh, since);
        must(renewals >= fewest, `only ${renewals} certificates were issued`);
        tell(`${renewals} certificates`);
      },
    };
  },
};
