/** What `analyze` says: a code that users can look up and suppress, how bad it is, and about which object. */

export type AnalysisLevel = "Info" | "Warning" | "Error";

export interface AnalysisMessage {
  readonly code: string;
  readonly level: AnalysisLevel;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly message: string;
  /** The field, where one is to blame. */
  readonly path?: string;
}

/** Istio's levels, and one of ours; what is not listed is a warning. */
const errors: ReadonlySet<string> = new Set(
  "IST0001 IST0101 IST0106 IST0109 IST0110 IST0111 IST0112 IST0126 IST0139 IST0141 IST0142 IST0143 IST0145 IST0147 IST0149 IST0152 IST0153 IST0154 IST0156 IST0159 IST0160 IST0161 IST0173 FLD0009".split(
    " ",
  ),
);
const infos: ReadonlySet<string> = new Set("IST0102 IST0118 IST0131 IST0135 IST0136 IST0148 IST0164".split(" "));

export function levelOf(code: string): AnalysisLevel {
  if (errors.has(code)) return "Error";
  return infos.has(code) ? "Info" : "Warning";
}

const ranks: Readonly<Record<AnalysisLevel, number>> = { Info: 0, Warning: 1, Error: 2 };

export const atLeast = (level: AnalysisLevel, threshold: AnalysisLevel): boolean => ranks[level] >= ranks[threshold];
