/** `npm run soak`: minutes, or a number of writes, in; what a mesh of twelve workloads holds of the machine meanwhile out. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type ChaosMesh, startChaosMesh, twelve } from "../chaos/mesh.ts";
import { exitAfter, unlessStopped } from "../stop.ts";
import { writeAndDelete } from "./intense.ts";
import { type SoakReport, soak } from "./long.ts";
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
await exitAfter((stop) => measure(stop).finally(() => rmSync(snapshots, { recursive: true, force: true })));

async function measure(stop: AbortSignal): Promise<number> {
  const nodeOptions = snapshotOptions(snapshots);
  const mesh = await startChaosMesh({ apps: twelve, pauseMs: Number(values.pause), say, nodeOptions, stop });
  const { text, wrong } = await unlessStopped(run(mesh), stop).finally(() => mesh.close());
  process.stdout.write(text);
  return wrong.length === 0 ? 0 : 1;
}

function run(mesh: ChaosMesh): Promise<SoakReport> {
  if (values.writes !== undefined) return writeAndDelete(mesh, { writes: Number(values.writes), snapshots, say });
  const [minutes, limit, stepMs] = [Number(values.minutes), Number(values.limit), Number(values.step)];
  return soak(mesh, { minutes, limit, stepMs, snapshots, say });
}
