/** The words with which Go's encoding/json and time packages refuse a value; istiod's users know these messages. */
import { parseDuration } from "../lib/index.ts";

/** What Go calls the JSON type of a value. */
function jsonType(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "object" ? "object" : typeof value;
}

export function cannotUnmarshal(value: unknown, goType: string): string {
  const shown = typeof value === "number" && /int|float|Number/.test(goType) ? `number ${value}` : jsonType(value);
  return `json: cannot unmarshal ${shown} into Go value of type ${goType}`;
}

/** What Go's JSON scanner says of a text that should have been a number. */
export function notANumber(text: string): string {
  const first = text.trimStart()[0];
  if (first === undefined) return "unexpected end of JSON input";
  if (/[-0-9]/.test(first))
    return `invalid character '${text.replace(/^\s*-?\d*\.?\d*/, "")[0] ?? first}' after top-level value`;
  return `invalid character '${first}' looking for beginning of value`;
}

/** Undefined where Go's time.ParseDuration accepts the text. */
export function durationError(text: string): string | undefined {
  if (parseDuration(text) !== undefined) return undefined;
  const quoted = JSON.stringify(text);
  const number = /^[+-]?(\d+\.?\d*|\.\d+)/;
  if (!number.test(text)) return `time: invalid duration ${quoted}`;
  let rest = text.replace(/^[+-]/, "");
  while (rest !== "") {
    const amount = /^(\d+\.?\d*|\.\d+)/.exec(rest)?.[0];
    if (amount === undefined) return `time: invalid duration ${quoted}`;
    const unit = /^[^\d.]*/.exec(rest.slice(amount.length))?.[0] ?? "";
    if (unit === "") return `time: missing unit in duration ${quoted}`;
    if (!/^(h|m|s|ms|us|µs|μs|ns)$/.test(unit))
      return `time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`;
    rest = rest.slice(amount.length + unit.length);
  }
  return `time: invalid duration ${quoted}`;
}
