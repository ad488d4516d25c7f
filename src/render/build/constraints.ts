/**
 * A message in; the first field that breaks a constraint of Envoy's own protos out. Envoy refuses a whole resource for
 * one such field, so what users wrote is checked before it is put among the rest.
 */
import {
  type DescField,
  type DescMessage,
  type DescOneof,
  getOption,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { type FieldRules, required, rules } from "../../gen/validate/validate_pb.js";
import { type Check, checkValue } from "./constraint-rules.ts";

/** Path of the field, as in `match.headers[0].name`; undefined where Envoy would take the message. */
export function brokenConstraint<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
): string | undefined {
  return checkerOf(schema)(message);
}

type Checker = (message: Message) => string | undefined;

/** Rules never change, so a type's checker is made once. */
const checkers = new Map<string, Checker>();

function checkerOf(schema: DescMessage): Checker {
  const known = checkers.get(schema.typeName);
  if (known) return known;
  let checks: readonly Checker[] = [];
  const checker: Checker = (message) => firstOf(checks, (check) => check(message));
  // Types contain themselves: the entry must be there before its fields are looked at.
  checkers.set(schema.typeName, checker);
  checks = [
    ...schema.fields.filter(({ oneof }) => !oneof).flatMap(fieldChecker),
    ...schema.oneofs.flatMap(oneofChecker),
  ];
  return checker;
}

/** Rules of a oneof's member hold only where it is the one, so only that one is looked at. */
function oneofChecker(oneof: DescOneof): Checker[] {
  const isRequired = getOption(oneof, required);
  const members = new Map(oneof.fields.map((field) => [field.localName, valueChecker(field, getOption(field, rules))]));
  return [
    (message) => {
      const chosen = memberOf(message, oneof.localName);
      if (chosen?.case === undefined) return isRequired ? oneof.localName : undefined;
      const broken = members.get(chosen.case)?.(chosen.value);
      return broken === undefined ? undefined : `${oneof.localName}.${chosen.case}${broken}`;
    },
  ];
}

function fieldChecker(field: DescField): Checker[] {
  const inner = valueChecker(field, getOption(field, rules));
  if (!inner) return [];
  return [
    (message) => {
      const broken = inner((message as unknown as Readonly<Record<string, unknown>>)[field.localName]);
      return broken === undefined ? undefined : `${field.localName}${broken}`;
    },
  ];
}

function valueChecker(field: DescField, rule: FieldRules): Check | undefined {
  const own = checkValue(
    rule,
    field.presence === FeatureSet_FieldPresence.EXPLICIT || field.oneof !== undefined || field.fieldKind === "message",
  );
  const { message } = field;
  const nested =
    message && !message.typeName.startsWith("google.protobuf.") ? nestedChecker(field, message) : undefined;
  const item = field.fieldKind === "list" && rule.type.case === "repeated" ? rule.type.value.items : undefined;
  const items = item && eachOf(checkValue(item, false));
  const all = [own, nested, items].filter((check) => check !== undefined);
  return all.length === 0 ? undefined : (value) => firstOf(all, (check) => check(value));
}

function nestedChecker(field: DescField, schema: DescMessage): Check {
  const check: Check = (value) => {
    if (typeof value !== "object" || value === null) return undefined;
    const broken = checkerOf(schema)(value as Message);
    return broken === undefined ? undefined : `.${broken}`;
  };
  return field.fieldKind === "message" ? check : (eachOf(check) ?? check);
}

/** Members of a list or a map. */
function eachOf(check: Check | undefined): Check | undefined {
  return (
    check &&
    ((value) =>
      firstOf(Object.entries(value ?? {}), ([key, member]) => {
        const broken = check(member);
        return broken === undefined ? undefined : `[${key}]${broken}`;
      }))
  );
}

function memberOf(message: Message, oneof: string): { readonly case?: string; readonly value?: unknown } | undefined {
  return (message as unknown as Readonly<Record<string, { readonly case?: string; readonly value?: unknown }>>)[oneof];
}

function firstOf<T>(items: Iterable<T>, check: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const broken = check(item);
    if (broken !== undefined) return broken;
  }
  return undefined;
}
