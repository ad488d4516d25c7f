/** What a user gives (flags, files, an IstioOperator) in; profile and values as the installation knows them out. */
import { isRecord, readRecord, readText } from "../lib/index.ts";
import { mergeRecords } from "./expression.ts";
import { parseSetFlag } from "./set-flag.ts";

type Values = Readonly<Record<string, unknown>>;

export interface GivenValues {
  readonly profile: string | undefined;
  readonly values: readonly Values[];
}

/** Files first, in their order, then `--set`. */
export function readGivenValues(files: readonly unknown[], sets: readonly string[]): GivenValues {
  const layers = [...files.filter(isRecord).map(fromFile), ...sets.map(parseSetFlag).map(fromSet)];
  const profile = layers.map(({ profile: named }) => named).findLast((named) => named !== undefined);
  return { profile, values: layers.map(({ values }) => values) };
}

interface Layer {
  readonly profile: string | undefined;
  readonly values: Values;
}

/** Plain values, or an IstioOperator as istioctl reads it. */
function fromFile(file: Values): Layer {
  return file.kind === "IstioOperator" ? fromSet(readRecord(file.spec)) : fromSet(file);
}

/** istioctl's words: `values.` before the chart's own, and hub, tag and namespace beside them. */
function fromSet(given: Values): Layer {
  const { profile, values, hub, tag, namespace, ...rest } = given;
  const images = { ...(hub === undefined ? {} : { hub }), ...(tag === undefined ? {} : { tag }) };
  const place = namespace === undefined ? {} : { istioNamespace: namespace };
  const global = { ...images, ...place };
  return {
    profile: profile === undefined ? undefined : readText(profile),
    values: [readRecord(values), Object.keys(global).length > 0 ? { global } : {}].reduce(mergeRecords, rest),
  };
}
