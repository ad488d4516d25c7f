/** The answer to `why` in; the lines that a person reads, the names, and the exit status, out. */
import { showDecider } from "../../control-plane/index.ts";
import { percent } from "../../explain/index.ts";
import { printable } from "../../lib/index.ts";
import type { Decider, WhyAnswer, WhyOutcome } from "../../read-api/index.ts";

export function textReport({
  request,
  logged,
  verdict,
  odds: outcomes,
  unfollowed,
  steps,
  assumptions,
}: WhyAnswer): string {
  const lines = [verdict.text, `  ${request}`];
  if (logged !== undefined) lines.push(`  the log says ${logged}`);
  if (outcomes.length > 1 || unfollowed > 0) {
    lines.push("", "odds");
    for (const { odds, text } of outcomes) lines.push(`  ${percent(odds).padStart(8)}  ${text}`);
    if (unfollowed > 0) lines.push(`  ${percent(unfollowed).padStart(8)}  not followed`);
  }
  let proxy = "";
  for (const step of steps) {
    if (step.proxy !== proxy) lines.push("", step.proxy);
    proxy = step.proxy;
    const odds = step.odds === undefined ? "" : ` (${percent(step.odds)})`;
    lines.push(`  ${step.stage.padEnd(15)} ${step.decision}${odds}`);
    for (const decider of step.deciders) lines.push(`  ${"".padEnd(15)}   from ${showDecider(decider)}`);
    for (const lost of step.lost) lines.push(`  ${"".padEnd(15)}   not ${lost}`);
  }
  if (assumptions.length > 0) lines.push("", "taken for granted", ...assumptions.map((text) => `  ${text}`));
  return `${lines.map(printable).join("\n")}\n`;
}

/** Objects that decided what becomes of the request, the nearest first. */
export const deciderNames = ({ steps }: WhyAnswer): readonly string[] => [
  ...new Set((steps.at(-1)?.deciders ?? []).map(({ object }: Decider) => object)),
];

export const getsThrough = ({ kind, status = 0, grpcStatus }: WhyOutcome): boolean =>
  kind === "reached" || (kind === "answered" && status < 400 && grpcStatus === undefined);
