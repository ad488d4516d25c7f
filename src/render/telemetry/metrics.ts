/** Telemetry objects and default providers in; for each metrics provider, what is changed for one direction, out. */
import { compareText } from "../../lib/index.ts";
import type { OutboundFacet, TelemetryMetrics, TelemetryMetricsOverrides } from "../../model/index.ts";
import type { View } from "../view.ts";
import { type Mode, matchesMode, providerNames, telemetries } from "./telemetry.ts";

interface MetricOverride {
  readonly metric: string;
  readonly disabled: boolean;
  readonly remove: readonly string[];
  readonly set: Readonly<Record<string, string>>;
}

export interface MetricsSetting {
  /** All metrics of this direction are off: no filter at all. */
  readonly disabled: boolean;
  readonly reportingInterval: string | undefined;
  /** Sorted by metric. */
  readonly overrides: readonly MetricOverride[];
}

const allMetrics = [
  "GRPC_REQUEST_MESSAGES",
  "GRPC_RESPONSE_MESSAGES",
  "REQUEST_COUNT",
  "REQUEST_DURATION",
  "REQUEST_SIZE",
  "RESPONSE_SIZE",
  "TCP_CLOSED_CONNECTIONS",
  "TCP_OPENED_CONNECTIONS",
  "TCP_RECEIVED_BYTES",
  "TCP_SENT_BYTES",
];

interface Building {
  allOff: boolean;
  reportingInterval: string | undefined;
  readonly metrics: Map<string, { disabled: boolean; readonly tags: Map<string, string | undefined> }>;
}

/** Providers in order of their names. The last level that names providers decides which ones there are. */
export function metricsSettings(view: View<OutboundFacet>, mode: Mode): ReadonlyMap<string, MetricsSetting> {
  const defaults = view.mesh.settings().defaultProviders?.metrics ?? [];
  const entries = telemetries(view, "metrics").flatMap(({ spec }) => spec.metrics ?? []);
  const building = new Map<string, Building>();
  if (entries.length === 0) for (const name of defaults) building.set(name, empty());
  let inherited = defaults;
  const inScope = new Set(lastNamed(entries) ?? defaults);
  for (const entry of entries) {
    const own = providerNames(entry.providers);
    inherited = own.length > 0 ? own : inherited;
    for (const name of inherited)
      if (inScope.has(name)) building.set(name, apply(building.get(name) ?? empty(), entry, mode));
  }
  return new Map([...building].sort(([a], [b]) => compareText(a, b)).map(([name, value]) => [name, finish(value)]));
}

const empty = (): Building => ({ allOff: false, reportingInterval: undefined, metrics: new Map() });

function lastNamed(entries: readonly TelemetryMetrics[]): readonly string[] | undefined {
  return entries.map(({ providers }) => providerNames(providers)).findLast((names) => names.length > 0);
}

function apply(building: Building, entry: TelemetryMetrics, mode: Mode): Building {
  building.reportingInterval = entry.reportingInterval ?? building.reportingInterval;
  for (const override of entry.overrides ?? []) {
    if (!matchesMode(override.match?.mode, mode)) continue;
    if (coversAll(override) && override.disabled) {
      building.allOff = true;
      continue;
    }
    building.allOff = false;
    for (const metric of metricsOf(override)) applyOverride(building, metric, override);
  }
  return building;
}

function applyOverride(building: Building, metric: string, override: TelemetryMetricsOverrides): void {
  const existing = building.metrics.get(metric) ?? { disabled: false, tags: new Map() };
  if (typeof override.disabled === "boolean") existing.disabled = override.disabled;
  for (const [tag, change] of Object.entries(override.tagOverrides ?? {})) {
    existing.tags.set(tag, change.operation === "REMOVE" ? undefined : (change.value ?? ""));
  }
  building.metrics.set(metric, existing);
}

const coversAll = ({ match }: TelemetryMetricsOverrides): boolean =>
  match?.customMetric === undefined && (match?.metric ?? "ALL_METRICS") === "ALL_METRICS";

function metricsOf(override: TelemetryMetricsOverrides): readonly string[] {
  if (override.match?.customMetric !== undefined) return [override.match.customMetric];
  return coversAll(override) ? allMetrics : [override.match?.metric ?? ""];
}

function finish({ allOff, reportingInterval, metrics }: Building): MetricsSetting {
  const overrides = [...metrics]
    .sort(([a], [b]) => compareText(a, b))
    .map(([metric, { disabled, tags }]) => {
      const sorted = [...tags].sort(([a], [b]) => compareText(a, b));
      const remove = sorted.flatMap(([tag, value]) => (value === undefined ? [tag] : []));
      const set = Object.fromEntries(sorted.flatMap(([tag, value]) => (value === undefined ? [] : [[tag, value]])));
      return { metric, disabled, remove, set };
    });
  return { disabled: allOff, reportingInterval, overrides };
}
