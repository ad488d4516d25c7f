/** A number of kills and a seed in; what was lost, torn or invented by the store over all of them out. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const points = ["before", "middle", "written", "synced", "acknowledged"] as const;

export interface Order {
  readonly path: string;
  readonly point: (typeof points)[number];
  /** Transactions that go well before. */
  readonly after: number;
  readonly run: number;
}

export interface KillReport {
  readonly kills: number;
  readonly acknowledged: number;
  readonly byPoint: Readonly<Record<string, number>>;
  /** From the start of the process after a kill until the store has said what is in it. */
  readonly longestStartMs: number;
  readonly faults: readonly string[];
}

/** What is known of a key: the mark of its last acknowledged write ("-": deleted), and of writes that may have happened since. */
interface Known {
  sure: string;
  readonly possible: Set<string>;
}

export function killMany(count: number, seed: number): KillReport {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-kills-"));
  const path = join(dir, "store.mdb");
  const known = new Map<string, Known>();
  const byPoint: Record<string, number> = {};
  const faults: string[] = [];
  let [acknowledged, version, longestStartMs] = [0, 0, 0];
  try {
    for (let i = 0; i < count; i++) {
      const point = points[(i + seed) % points.length] ?? "before";
      const order: Order = { path, point, after: (i * 7 + seed) % 4, run: i };
      const lines = runChild(order, faults);
      byPoint[point] = (byPoint[point] ?? 0) + 1;
      const now = readStart(lines);
      if (now.version < version) faults.push(`kill ${i}: the version went from ${version} back to ${now.version}`);
      compare(`kill ${i}`, known, now.objects, faults);
      ({ version } = now);
      longestStartMs = Math.max(longestStartMs, now.startMs);
      for (const [what, name = "", third = "", op = ""] of lines) {
        if (what === "asks") entry(known, name).possible.add(third);
        if (what !== "acknowledged") continue;
        acknowledged++;
        version = Math.max(version, Number(third));
        known.set(name, { sure: op, possible: new Set() });
      }
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  return { kills: count, acknowledged, byPoint, longestStartMs, faults };
}

function runChild(order: Order, faults: string[]): readonly (readonly string[])[] {
  const { stdout, signal, stderr } = spawnSync(process.execPath, [
    join(import.meta.dirname, "child.ts"),
    JSON.stringify(order),
  ]);
  if (signal !== "SIGKILL") faults.push(`it ended by ${signal}: ${stderr.toString().slice(0, 400)}`);
  return stdout
    .toString()
    .split("\n")
    .map((line) => line.split(" "));
}

interface Start {
  readonly version: number;
  readonly startMs: number;
  readonly objects: ReadonlyMap<string, string>;
}

function readStart(lines: readonly (readonly string[])[]): Start {
  const ready = lines.find(([what]) => what === "ready");
  const has = lines.filter(([what]) => what === "has");
  const [, version = -1, startMs = 0] = ready ?? [];
  return {
    version: Number(version),
    startMs: Number(startMs),
    objects: new Map(has.map(([, name = "", , op = ""]) => [name, op])),
  };
}

function entry(known: Map<string, Known>, name: string): Known {
  const found = known.get(name) ?? { sure: "-", possible: new Set<string>() };
  known.set(name, found);
  return found;
}

/** Each key holds what was acknowledged last, or what was asked for after that; from now on that is what is sure. */
function compare(
  when: string,
  known: Map<string, Known>,
  objects: ReadonlyMap<string, string>,
  faults: string[],
): void {
  for (const name of new Set([...known.keys(), ...objects.keys()])) {
    const { sure, possible } = entry(known, name);
    const found = objects.get(name) ?? "-";
    if (found !== sure && !possible.has(found)) faults.push(`${when}: ${name} is ${found}, not ${sure}`);
    known.set(name, { sure: found, possible: new Set() });
  }
}
