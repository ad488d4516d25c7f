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
  checks = [...schema.fields.flatMap(fieldChecker), ...schema.oneofs.flatMap(oneofChecker)];
  return checker;
}

function oneofChecker(oneof: DescOneof): Checker[] {
  if (!getOption(oneof, required)) return [];
  return [(message) => (memberOf(message, oneof.localName)?.case === undefined ? oneof.localName : undefined)];
}

function fieldChecker(field: DescField): Checker[] {
  const rule = getOption(field, rules);
  const inner = valueChecker(field, rule);
  if (!inner) return [];
  const name = field.oneof ? `${field.oneof.localName}.${field.localName}` : field.localName;
  return [
    (message) => {
      // Rules of a oneof's member hold only where it is the one.
      if (field.oneof && memberOf(message, field.oneof.localName)?.case !== field.localName) return undefined;
      const broken = inner(valueOf(message, field));
      return broken === undefined ? undefined : `${name}${broken}`;
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

function valueOf(message: Message, field: DescField): unknown {
  if (!field.oneof) return (message as unknown as Readonly<Record<string, unknown>>)[field.localName];
  return memberOf(message, field.oneof.localName)?.value;
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
