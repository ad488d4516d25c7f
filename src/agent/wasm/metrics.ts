/** What happens to modules in; the figures of Istio's agent, in Prometheus' text format, out. */
import { gaugeText, type MetricLine, metricText } from "../metric-text.ts";

export interface WasmMetrics {
  lookedUp(hit: boolean): void;
  fetched(result: string): void;
  converted(result: string): void;
  took(ms: number): void;
  entries(count: number): void;
  text(): string;
}

const bucketsMs = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];
const duration = "istio_agent_wasm_config_conversion_duration";

const counter = (name: string, help: string) => ({ name: `istio_agent_${name}`, type: "counter", help }) as const;
const lookups = counter("wasm_cache_lookup_count", "Lookups of Wasm modules in the cache.");
const fetches = counter("wasm_remote_fetch_count", "Fetches of Wasm modules, by their result.");
const conversions = counter("wasm_config_conversion_count", "Wasm configurations that were looked at, by the result.");

export function createWasmMetrics(): WasmMetrics {
  const counts = {
    hit: new Map<string, number>(),
    fetch: new Map<string, number>(),
    convert: new Map<string, number>(),
  };
  const times = { sum: 0, count: 0, buckets: bucketsMs.map(() => 0) };
  let modules = 0;
  const add = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1);
  const lines = (map: ReadonlyMap<string, number>, label: string): readonly MetricLine[] =>
    [...map].map(([value, count]) => [`{${label}="${value}"}`, count]);
  const histogram = (): string =>
    [
      `# HELP ${duration} Milliseconds that it took to have the modules of a configuration.`,
      `# TYPE ${duration} histogram`,
      ...bucketsMs.map((le, i) => `${duration}_bucket{le="${le}"} ${times.buckets[i] ?? 0}`),
      `${duration}_bucket{le="+Inf"} ${times.count}`,
      `${duration}_sum ${times.sum}`,
      `${duration}_count ${times.count}\n`,
    ].join("\n");
  return {
    lookedUp: (hit) => add(counts.hit, String(hit)),
    fetched: (result) => add(counts.fetch, result),
    converted: (result) => add(counts.convert, result),
    took(ms) {
      times.sum += ms;
      times.count++;
      for (const [i, le] of bucketsMs.entries()) if (ms <= le) times.buckets[i] = (times.buckets[i] ?? 0) + 1;
    },
    entries: (count) => {
      modules = count;
    },
    /** Nothing where there never was a Wasm module. */
    text: () =>
      times.count === 0
        ? ""
        : gaugeText("istio_agent_wasm_cache_entries", "Wasm modules in the cache.", modules) +
          metricText(lookups, lines(counts.hit, "hit")) +
          metricText(fetches, lines(counts.fetch, "result")) +
          metricText(conversions, lines(counts.convert, "result")) +
          histogram(),
  };
}
