/** A monitoring port in; what the process costs, by the names that Prometheus knows, out. */
import type { KeptParts } from "../../src/control-plane/debug/cache-view.ts";
import type { Address, Server } from "./server.ts";
import type { Spread } from "./spread.ts";

/** At one moment. */
export interface Memory {
  readonly residentMiB: number;
  /** As Node tells them; array buffers are among what is external. Fairlead alone. */
  readonly parts: Readonly<Record<string, number>>;
}

export interface Figures extends Memory {
  readonly cpuSeconds: number;
  readonly classes: number | undefined;
  /** Since the figures before. */
  readonly loopDelayMs: Spread | undefined;
}

/** What is kept of what was rendered; Fairlead alone. */
export interface PartFigures {
  /** The largest first. */
  readonly recipes: readonly {
    readonly recipe: string;
    readonly entries: number;
    readonly lookups: number;
    /** About. */
    readonly kib: number;
  }[];
  /** By type of resource, each piece once however many resources have it. */
  readonly encodedKiB: Readonly<Record<string, number>>;
}

const mebi = 1024 * 1024;

/**
 * What an entry of a recipe and each look-up that it has recorded take of the heap, beside what the entry holds: seen with
 * 50,000 entries of 0 to 12 look-ups, within a sixth. A look-up of what hardly anybody else reads takes up to 110.
 */
const [entryBytes, lookupBytes] = [400, 70];

/** Undefined where nobody has said where it is scraped. */
export const figuresOf = async ({ monitoring }: Server): Promise<Figures | undefined> =>
  monitoring && (await readFigures(monitoring));

export const partsOf = async ({ monitoring }: Server): Promise<PartFigures | undefined> =>
  monitoring && (await readParts(monitoring));

/** Undefined where another control plane does not tell. */
async function readParts(monitoring: Address): Promise<PartFigures | undefined> {
  const answer = await fetch(`http://${monitoring.host}:${monitoring.port}/debug/krtz?parts=true`);
  const { recipes, encodedBytes } = answer.ok ? ((await answer.json()) as Partial<KeptParts>) : {};
  if (!recipes || !encodedBytes) return undefined;
  return {
    recipes: Object.entries(recipes)
      .map(([recipe, { entries, lookups }]) => ({
        ...{ recipe, entries, lookups },
        kib: (entries * entryBytes + lookups * lookupBytes) / 1024,
      }))
      .sort((a, b) => b.kib - a.kib),
    encodedKiB: Object.fromEntries(
      Object.entries(encodedBytes).map(([type, bytes]) => [type.slice(type.lastIndexOf(".") + 1), bytes / 1024]),
    ),
  };
}

export async function readFigures(monitoring: Address): Promise<Figures> {
  const answer = await fetch(`http://${monitoring.host}:${monitoring.port}/metrics`);
  const samples = new Map(
    (await answer.text())
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line): [string, number] => {
        const at = line.lastIndexOf(" ");
        return [line.slice(0, at), Number(line.slice(at + 1))];
      }),
  );
  const parts = [...samples].flatMap(([name, value]) => {
    const [, part] = /^fairlead_memory_bytes\{part="(\w+)"\}$/.exec(name) ?? [];
    return part === undefined ? [] : [[part, value / mebi] as const];
  });
  return {
    cpuSeconds: samples.get("process_cpu_seconds_total") ?? Number.NaN,
    residentMiB: (samples.get("process_resident_memory_bytes") ?? Number.NaN) / mebi,
    parts: Object.fromEntries(parts),
    classes: samples.get("fairlead_classes"),
    loopDelayMs: loopDelayOf(samples),
  };
}

function loopDelayOf(samples: ReadonlyMap<string, number>): Spread | undefined {
  const name = "fairlead_event_loop_delay";
  const [p50, p99, max] = ["0.5", "0.99", "1"].map((one) => samples.get(`${name}_seconds{quantile="${one}"}`));
  const looks = samples.get(`${name}_samples`);
  if (p50 === undefined || p99 === undefined || max === undefined || looks === undefined) return undefined;
  return { p50: p50 * 1000, p99: p99 * 1000, max: max * 1000, samples: looks };
}
