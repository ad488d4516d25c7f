/** A proxy in; the Telemetry objects that apply to it out, each remembered as a cause. */
import type { Config, OutboundFacet, TelemetrySpec } from "../../model/index.ts";
import { objectName } from "../../model/index.ts";
import type { Direction } from "../proxy/direction.ts";
import type { View } from "../view.ts";

export type Mode = "CLIENT" | "SERVER";

/** A gateway is a client of what is behind it. */
export const modeOf = (direction: Direction): Mode => (direction === "inbound" ? "SERVER" : "CLIENT");

export const matchesMode = (selected: string | undefined, mode: Mode): boolean =>
  selected === undefined || selected === "CLIENT_AND_SERVER" || selected === mode;

export const providerNames = (providers: readonly { readonly name?: string }[] | undefined): readonly string[] =>
  (providers ?? []).flatMap(({ name }) => name ?? []);

/** Later ones override earlier ones. */
export function telemetries<F extends "metrics" | "tracing" | "accessLogging">(
  view: View<OutboundFacet>,
  field: F,
): readonly Config<TelemetrySpec>[] {
  const all = view.proxy.telemetries
    .flatMap((key) => view.mesh.telemetry(key) ?? [])
    .filter(({ spec }) => (spec[field]?.length ?? 0) > 0);
  for (const { kind, meta } of all) view.mesh.graph.note(objectName(kind, meta), `spec.${field}`);
  return all;
}
