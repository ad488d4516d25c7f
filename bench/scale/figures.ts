/** A monitoring port in; what the process costs, by the names that Prometheus knows, out. */
import type { KeptParts } from "../../src/control-plane/debug/cache-view.ts";
import type { Address } from "./server.ts";

export interface Figures {
  readonly cpuSeconds: number;
  readonly residentMiB: number;
  /** Fairlead alone. */
  readonly parts: Readonly<Record<string, number>>;
  readonly classes: number | undefined;
  /** Milliseconds since the figures before: median, 99 of 100, worst. */
  readonly loopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number } | undefined;
}

/** What is kept of what was rendered; Fairlead alone. */
export interface PartFigures {
  readonly recipes: readonly { readonly recipe: string; readonly entries: number; readonly lookups: number }[];
  /** By type of resource, each piece once however many resources have it. */
  readonly encodedKiB: Readonly<Record<string, number>>;
}

const mebi = 1024 * 1024;

/** Undefined where another control plane does not tell. */
export async function readParts(monitoring: Address): Promise<PartFigures | undefined> {
  const answer = await fetch(`http://${monitoring.host}:${monitoring.port}/debug/krtz?parts=true`);
  const { recipes, encodedBytes } = answer.ok ? ((await answer.json()) as Partial<KeptParts>) : {};
  if (!recipes || !encodedBytes) return undefined;
  return {
    recipes: Object.entries(recipes)
      .map(([recipe, kept]) => ({ recipe, ...kept }))
      .sort((a, b) => b.entries + b.lookups - a.entries - a.lookups),
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
  const delay = (quantile: string): number | undefined =>
    samples.get(`fairlead_event_loop_delay_seconds{quantile="${quantile}"}`);
  const [p50, p99, max] = [delay("0.5"), delay("0.99"), delay("1")];
  return {
    cpuSeconds: samples.get("process_cpu_seconds_total") ?? Number.NaN,
    residentMiB: (samples.get("process_resident_memory_bytes") ?? Number.NaN) / mebi,
    parts: Object.fromEntries(parts),
    classes: samples.get("fairlead_classes"),
    loopDelayMs:
      p50 === undefined || p99 === undefined || max === undefined
        ? undefined
        : { p50: p50 * 1000, p99: p99 * 1000, max: max * 1000 },
  };
}
