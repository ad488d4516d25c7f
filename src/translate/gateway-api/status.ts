/** Outcomes of translation in; status conditions, without times, out. */
import type { Problem } from "./problem.ts";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

/** What an object's `status` should be; conditions get their times when it is written. */
export interface ObjectStatus {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly status: Readonly<Record<string, unknown>>;
}

/** True with the reason and message for success, or the inverse with those of the problem. */
export function condition(
  type: string,
  generation: number | undefined,
  good: { readonly reason: string; readonly message: string; readonly status?: "True" | "False" },
  problem?: Problem,
): Condition {
  const status = good.status ?? "True";
  const { reason, message } = problem ?? good;
  return {
    type,
    status: problem ? (status === "True" ? "False" : "True") : status,
    reason,
    message,
    observedGeneration: generation ?? 0,
  };
}

/** Conditions in the order of their types, as istiod writes them. */
export function conditions(...list: readonly Condition[]): readonly Condition[] {
  return [...list].sort((a, b) => (a.type < b.type ? -1 : 1));
}

/** `a`, `a and b`, `a, b, and c`. */
export function joinWords(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  if (words.length <= 1) return last;
  return words.length === 2 ? words.join(" and ") : `${words.slice(0, -1).join(", ")}, and ${last}`;
}
