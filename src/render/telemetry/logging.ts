/** Telemetry objects and default providers in; which providers log for one direction, and what they leave out, out. */
import type { OutboundFacet } from "../../model/index.ts";
import type { View } from "../view.ts";
import { type Mode, matchesMode, providerNames, telemetries } from "./telemetry.ts";

export interface LogSetting {
  readonly disabled: boolean;
  /** CEL; only what it accepts is logged. */
  readonly expression: string | undefined;
}

/** Undefined where nobody configured logging by providers: mesh config's access log applies then. */
export function logSettings(view: View<OutboundFacet>, mode: Mode): ReadonlyMap<string, LogSetting> | undefined {
  const defaults = view.mesh.settings().defaultProviders?.accessLogging ?? [];
  const levels = telemetries(view, "accessLogging").map(({ spec }) => spec.accessLogging ?? []);
  if (levels.length === 0) {
    return defaults.length === 0
      ? undefined
      : new Map(defaults.map((name) => [name, { disabled: false, expression: undefined }]));
  }
  const { inScope, expressions } = chosenProviders(levels, defaults, mode);
  const settings = new Map<string, LogSetting>();
  let inherited: readonly string[] = defaults;
  for (const entry of levels.flat()) {
    const own = providerNames(entry.providers);
    inherited = own.length > 0 ? own : inherited;
    if (!matchesMode(entry.match?.mode, mode)) continue;
    for (const name of inherited) {
      if (!inScope.has(name)) continue;
      settings.set(
        name,
        entry.disabled
          ? { disabled: true, expression: undefined }
          : { disabled: false, expression: expressions.get(name) },
      );
    }
  }
  return settings;
}

type Levels = readonly (readonly NonNullable<
  ReturnType<typeof telemetries>[number]["spec"]["accessLogging"]
>[number][])[];

/** The last level that names providers for this mode decides which ones there are; filters are each provider's latest. */
function chosenProviders(levels: Levels, defaults: readonly string[], mode: Mode) {
  let inScope: ReadonlySet<string> = new Set(defaults);
  const expressions = new Map<string, string | undefined>();
  for (const level of levels) {
    const matching = level.filter((entry) => matchesMode(entry.match?.mode, mode));
    for (const entry of matching) {
      for (const name of providerNames(entry.providers)) expressions.set(name, entry.filter?.expression);
    }
    const names = matching.flatMap((entry) => providerNames(entry.providers));
    if (names.length > 0) inScope = new Set(names);
  }
  return { inScope, expressions };
}
