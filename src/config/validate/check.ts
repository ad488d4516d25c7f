/** The shape of a check: a kind's spec in, what istiod's webhook says of it into the report. */
import type { CelRules } from "../schema/cel.ts";
import type { Report } from "./report.ts";

/** What a check may know of the object beside its spec. */
export interface CheckedObject {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Says of an EnvoyFilter's value whether it is a message of the kind it is put into; who knows Envoy's messages gives it. */
export type PatchChecker = (
  applyTo: string,
  value: Readonly<Record<string, unknown>>,
) => { readonly error?: string; readonly warnings: readonly string[] };

export interface ValidateOptions {
  /** For expressions inside objects; without it they are not looked at. */
  readonly cel?: CelRules;
  readonly patches?: PatchChecker;
}

/** One of a kind that may be long pauses where others may be let in. */
export type Check<Spec> = (
  report: Report,
  spec: Spec,
  object: CheckedObject,
  options: ValidateOptions,
) => Generator<undefined, void> | void;
