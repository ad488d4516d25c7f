/** The rules of one field in, a check of its value out: protoc-gen-validate's rules as far as Envoy's protos use them. */
import type { Duration } from "@bufbuild/protobuf/wkt";
import {
  type DurationRules,
  type FieldRules,
  KnownRegex,
  type RepeatedRules,
  type StringRules,
} from "../../gen/validate/validate_pb.js";
import { compilePattern } from "../../lib/index.ts";

/** "" where the value itself breaks a rule, the path below it where a member does, undefined where none does. */
export type Check = (value: unknown) => string | undefined;

/** Rules are proto2: what is not set has a default, which is no rule. */
function own<T extends object, K extends keyof T>(rule: T, key: K): T[K] | undefined {
  return Object.hasOwn(rule, key) ? rule[key] : undefined;
}

/** True where a limit is set and the value is on its wrong side. */
function beyond<L>(limit: L | undefined, isBeyond: (limit: L) => boolean): boolean {
  return limit !== undefined && isBeyond(limit);
}

const broken = (is: boolean): string | undefined => (is ? "" : undefined);

/** `optional`: an absent value breaks nothing unless the rule asks for it. */
export function checkValue(rule: FieldRules, optional: boolean): Check | undefined {
  const needed = rule.message?.required === true || isRequired(rule);
  const check = typeCheck(rule);
  if (!check && !needed) return undefined;
  return (value) => {
    if (value === undefined) return broken(needed || (!optional && check?.(value) !== undefined));
    return check?.(value);
  };
}

function isRequired({ type }: FieldRules): boolean {
  return (type.case === "duration" || type.case === "any" || type.case === "timestamp") && type.value.required === true;
}

function typeCheck({ type }: FieldRules): Check | undefined {
  switch (type.case) {
    case "string":
      return textCheck(type.value);
    case "repeated":
      return listCheck(type.value);
    case "duration":
      return durationCheck(type.value);
    case "enum":
      return (value) => broken(type.value.notIn.includes(Number(value)));
    case "float":
    case "double":
    case "int32":
    case "int64":
    case "uint32":
    case "uint64":
      return rangeCheck(type.value);
    default:
      return undefined;
  }
}

/** NUL and line ends are all that Envoy's headers and names exclude unless it asks for more. */
const loose = /^[^\0\r\n]*$/;
const strictName = /^:?[0-9a-zA-Z!#$%&'*+\-.^_|~`]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what headers may not have
const strictValue = /^[^\u0000-\u0008\u000A-\u001F\u007F]*$/;

function textCheck(rule: StringRules): Check {
  const source = own(rule, "pattern");
  const pattern = source === undefined ? undefined : compilePattern(source);
  const shape = textShape(rule);
  return (value) => {
    const text = typeof value === "string" ? value : "";
    if (text === "" && rule.ignoreEmpty) return undefined;
    const bytes = BigInt(Buffer.byteLength(text));
    return broken(
      // Characters and bytes differ only where both limits are far away.
      bytes < rule.minLen ||
        bytes < rule.minBytes ||
        beyond(own(rule, "maxLen"), (limit) => text.length > limit) ||
        beyond(own(rule, "maxBytes"), (limit) => bytes > limit) ||
        !text.startsWith(rule.prefix) ||
        (rule.in.length > 0 && !rule.in.includes(text)) ||
        rule.notIn.includes(text) ||
        (shape !== undefined && !shape.test(text)) ||
        (pattern !== undefined && !("error" in pattern) && !pattern.find(text)),
    );
  };
}

function textShape({ wellKnown, strict }: StringRules): RegExp | undefined {
  if (wellKnown.case !== "wellKnownRegex") return undefined;
  if (strict === false) return loose;
  return wellKnown.value === KnownRegex.HTTP_HEADER_NAME ? strictName : strictValue;
}

function listCheck(rule: RepeatedRules): Check {
  const most = own(rule, "maxItems");
  return (value) => {
    const count = Array.isArray(value) ? value.length : 0;
    return broken(count < rule.minItems || beyond(most, (limit) => count > limit));
  };
}

type RangeRules = Extract<
  FieldRules["type"],
  { readonly case: "double" | "int32" | "uint32" | "uint64" | "int64" | "float" }
>["value"];

function rangeCheck(rule: RangeRules): Check {
  return (value) => {
    const number = typeof value === "number" || typeof value === "bigint" ? value : 0;
    return broken(
      beyond(own(rule, "gt"), (limit) => number <= limit) ||
        beyond(own(rule, "gte"), (limit) => number < limit) ||
        beyond(own(rule, "lt"), (limit) => number >= limit) ||
        beyond(own(rule, "lte"), (limit) => number > limit),
    );
  };
}

function durationCheck({ gt, gte, lt, lte }: DurationRules): Check {
  return (value) => {
    const nanos = nanosOf(value as Duration);
    return broken(
      beyond(gt, (limit) => nanos <= nanosOf(limit)) ||
        beyond(gte, (limit) => nanos < nanosOf(limit)) ||
        beyond(lt, (limit) => nanos >= nanosOf(limit)) ||
        beyond(lte, (limit) => nanos > nanosOf(limit)),
    );
  };
}

const nanosOf = ({ seconds, nanos }: Duration): bigint => seconds * 1_000_000_000n + BigInt(nanos);
