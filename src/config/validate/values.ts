/** Durations, percentages, patterns and weights in, the reason why they are not accepted (or undefined) out. */
import { compilePattern, parseDuration } from "../../lib/index.ts";
import type { Percent, StringMatch } from "../../model/index.ts";
import { quote, type Report } from "./report.ts";

const ms = 1_000_000n;

export function durationError(text: string): string | undefined {
  const nanos = parseDuration(text) ?? 0n;
  if (nanos < ms) return "duration must be greater than 1ms";
  return nanos % ms === 0n ? undefined : "only durations to ms precision are supported";
}

export const isSet = (text: string | undefined): text is string => text !== undefined && text !== "";

export function checkDuration(report: Report, text: string | undefined): void {
  if (text !== undefined) report.error(durationError(text));
}

export const percentError = (value: number): string | undefined =>
  value < 0 || value > 100 ? `percentage ${value} is not in range 0..100` : undefined;

export function fractionError(percent: Percent | undefined): string | undefined {
  const value = percent?.value ?? 0;
  const fine = value === 0 || (value >= 0.0001 && value <= 100);
  return fine ? undefined : `percentage ${goNumber(value)} is neither 0.0, nor in range [0.0001, 100.0]`;
}

export function patternError(source: string, where: string): string | undefined {
  if (source.length > 1024) return `${quote(where)}: regex is too large, max length allowed is 1024`;
  const compiled = compilePattern(source);
  if (!("error" in compiled)) return undefined;
  return `${quote(where)}: ${compiled.error}; Istio uses RE2 style regex-based match (https://github.com/google/re2/wiki/Syntax)`;
}

export function regexMatchError(match: StringMatch | undefined, where: string): string | undefined {
  if (match?.regex === undefined) return undefined;
  return match.regex === ""
    ? `${quote(where)}: regex string match should not be empty`
    : patternError(match.regex, where);
}

export function stringMatchError(match: StringMatch | undefined, where: string): string | undefined {
  if (match?.prefix === "") return `${quote(where)}: prefix string match should not be empty`;
  return regexMatchError(match, where);
}

/** Go's `%v` of a float: exponents below -4, and with two digits. */
function goNumber(value: number): string {
  if (value === 0 || Math.abs(value) >= 0.0001) return String(value);
  return value.toExponential().replace(/e-(\d)$/, "e-0$1");
}
