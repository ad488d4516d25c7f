/** `npm run soak`: minutes, or a number of writes, in; what a mesh of twelve workloads holds of the machine meanwhile out. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startChaosMesh, twelve } from "../chaos/mesh.ts";
import { writeAndDelete } from "./intense.ts";
import { soak } from "./long.ts";
import { snapshotOptions } from "./watched.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "120" },
    /** Instead of minutes: so many writes and deletes, as fast as they go. */
    writes: { type: "string" },
    /** B/s that a process may grow by. */
    limit: { type: "string", default: "200" },
    /** ms between two requests of one of the client's workers, and between two rounds of changes: more for a busy machine. */
    pause: { type: "string", default: "50" },
    step: { type: "string", default: "200" },
  },
});
const say = (text: string): boolean => process.stderr.write(`${text}\n`);

const snapshots = join(process.cwd(), ".cache/soak", String(process.pid));
mkdirSync(snapshots, { recursive: true });
const mesh = await startChaosMesh({
  ...{ apps: twelve, pauseMs: Number(values.pause), say, nodeOptions: snapshotOptions(snapshots) },
});
const run =
  values.writes === undefined
    ? soak(mesh, {
        ...{
          minutes: Number(values.minutes),
          limit: Number(values.limit),
          stepMs: Number(values.step),
          snapshots,
          say,
        },
      })
    : writeAndDelete(mesh, { writes: Number(values.writes), snapshots, say });
const { text, wrong } = await run.finally(() => mesh.close());
process.stdout.write(text);
rmSync(snapshots, { recursive: true, force: true });
process.exitCode = wrong.length === 0 ? 0 : 1;
