/**
 * CEL as the API server runs it: a rule's text in, a compiled function out. The library is loaded when the first rule
 * is needed; every rule is compiled once. A rule pays for what its loops go over and its functions read before they do, so
 * that rules over long lists and texts end in an error instead of holding everybody up.
 */
import { isIP } from "node:net";
import type { CelError, CelFunc, CelInput, CelValue } from "@bufbuild/cel";
import { compilePattern, dropOldest, measurePattern, parseDuration } from "../../lib/index.ts";
import { celDepth } from "./cel-depth.ts";
import { parseRequestUri } from "./go-url.ts";

export type CelBindings = Readonly<Record<string, CelInput>>;

export type CelVerdict = { readonly value: unknown } | { readonly error: string };

/** Entries of lists and maps, and pieces of texts, that all rules of one object together may go over. */
const maxEntries = 30_000;
/** Characters that cost as much as an entry. */
const pieceLength = 64;
/** Characters of a rule: longer ones take longer to read than most objects to check. */
const maxLength = 10_000;
/** Brackets inside each other, fewer than cel-go allows: 100 take some 20 ms to read, 1,000 take seconds. */
const maxDepth = 100;
/** Rules that one object may be asked. */
const maxRules = 40_000;

export interface CelRules {
  /** The same rules, with what one object may spend. */
  forOne(): CelRules;
  evaluate(expression: string, bindings: CelBindings): CelVerdict;
  /** Nothing is left for further rules of the object; the one that ran out has said so. */
  isSpent(): boolean;
  /** Undefined where the text is CEL. */
  syntaxError(expression: string): string | undefined;
}

export async function loadCel(): Promise<CelRules> {
  const cel = await import("@bufbuild/cel");
  const { strings } = await import("@bufbuild/cel/ext");
  const { DYN } = cel.CelScalar;
  let left = maxEntries;
  // One for all: a loop that has run out throws it for each entry that is left.
  const ranOut = new Error(`the rules go over more than ${maxEntries} entries: call cost exceeds limit`);
  const pay = (entries: number): void => {
    left -= entries;
    if (left < 0) throw ranOut;
  };
  const spend = cel.celFunc(pays, [DYN], DYN, (value) => {
    if (cel.isCelList(value) || cel.isCelMap(value)) pay(value.size);
    else if (typeof value === "string") pay(Math.floor(value.length / pieceLength));
    return value;
  });
  const own = [...kubernetesFunctions(cel), ...replacements(cel, pay), ...matching(cel, pay), spend];
  const env = cel.celEnv({ funcs: [...strings.filter(({ name }) => name !== "replace"), ...own] });
  const parse = (expression: string): ReturnType<typeof cel.parse> => {
    if (expression.length > maxLength) throw new Error(`a rule may have at most ${maxLength} characters`);
    if (celDepth(expression) > maxDepth)
      throw new Error(`a rule may have at most ${maxDepth} brackets inside each other`);
    return cel.parse(expression);
  };
  const compiled = new Map<string, (bindings?: Record<string, CelInput>) => CelValue | CelError>();
  const compile = (expression: string): ((bindings?: Record<string, CelInput>) => CelValue | CelError) => {
    const known = compiled.get(expression);
    if (known) return known;
    const parsed = parse(expression);
    makeRulePay(cel, parsed.expr);
    const made = cel.plan(env, parsed);
    compiled.set(expression, made);
    return made;
  };
  const rules = (budget: { left: number; rules: number } | undefined): CelRules => ({
    forOne: () => rules({ left: maxEntries, rules: maxRules }),
    isSpent: () => budget !== undefined && (budget.left < 0 || budget.rules < 0),
    syntaxError(expression) {
      try {
        parse(expression);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
    evaluate(expression, bindings) {
      left = budget?.left ?? maxEntries;
      // A loop that has run out goes on with an error for each entry: traces would cost more than all else.
      const { stackTraceLimit } = Error;
      Error.stackTraceLimit = 0;
      try {
        if (budget && --budget.rules < 0) throw new Error(`the object has more than ${maxRules} rules to meet`);
        const result = compile(expression)(bindings);
        // `error || true` is true, but nothing is known of what was not looked at.
        if (left < 0) throw ranOut;
        return cel.isCelError(result) ? { error: goWords(result.message) } : { value: result };
      } catch (error) {
        return { error: goWords(error instanceof Error ? error.message : String(error)) };
      } finally {
        Error.stackTraceLimit = stackTraceLimit;
        if (budget) budget.left = left;
      }
    },
  });
  return rules(undefined);
}

/** No name that could be written in a rule. */
const pays = "@pays";

type Cel = typeof import("@bufbuild/cel");
type Expr = NonNullable<ReturnType<Cel["parse"]>["expr"]>;

/** They look at no more than one entry of what they are given. */
const cheap: ReadonlySet<string> = new Set([
  "size",
  "_[_]",
  "_&&_",
  "_||_",
  "!_",
  "_?_:_",
  "@not_strictly_false",
  "charAt",
]);

/** What each loop goes over and each function reads is handed through `pays` first. */
function makeRulePay(cel: Cel, node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  for (const child of Object.values(node)) makeRulePay(cel, child);
  const kind = "exprKind" in node ? (node as Expr).exprKind : undefined;
  if (kind?.case === "comprehensionExpr" && kind.value.iterRange) {
    kind.value.iterRange = paying(cel, kind.value.iterRange);
    return;
  }
  if (kind?.case !== "callExpr" || cheap.has(kind.value.function) || kind.value.function === pays) return;
  if (kind.value.target) kind.value.target = paying(cel, kind.value.target);
  kind.value.args = kind.value.args.map((arg) => paying(cel, arg));
}

function paying(cel: Cel, expr: Expr): Expr {
  if (expr.exprKind.case === "constExpr") return expr;
  const { expr: call } = cel.parse("f()");
  if (call?.exprKind.case !== "callExpr") throw new Error("a call is no call");
  call.exprKind.value.function = pays;
  call.exprKind.value.args = [expr];
  return call;
}

/** What compiling a pattern costs, in instructions, for an entry; and what looking at a text costs (`Pattern.workOn`). */
const instructions = 2;
const patternWork = 100;
/** Patterns that need not be paid for again: no more than are kept compiled. */
const maxPaid = 400;

/** The library's own compiles its pattern at each call. */
function matching(cel: Cel, pay: (entries: number) => void): CelFunc[] {
  const { BOOL, STRING } = cel.CelScalar;
  const paid = new Set<string>();
  const found = (text: string, pattern: string): boolean => {
    if (!paid.has(pattern)) pay(Math.floor(measurePattern(pattern.slice(0, 2000)).most / instructions));
    paid.add(pattern);
    dropOldest(paid, maxPaid);
    const compiled = compilePattern(pattern);
    if ("error" in compiled) throw new Error(`error parsing regexp: ${compiled.error}`);
    pay(Math.floor(compiled.workOn(text) / patternWork));
    return compiled.find(text);
  };
  return [
    cel.celMethod("matches", STRING, [STRING], BOOL, function (pattern) {
      return found(this, pattern);
    }),
    cel.celFunc("matches", [STRING, STRING], BOOL, found),
  ];
}

/** The library's own makes the whole text again for every occurrence. */
function replacements(cel: Cel, pay: (entries: number) => void): CelFunc[] {
  const { INT, STRING } = cel.CelScalar;
  const replaced = (text: string, part: string, by: string, most: number): string => {
    const pieces = text.split(part);
    const times = most < 0 ? pieces.length - 1 : Math.min(most, pieces.length - 1);
    pay(Math.floor((times * by.length) / pieceLength));
    return [pieces.slice(0, times + 1).join(by), ...pieces.slice(times + 1)].join(part);
  };
  return [
    cel.celMethod("replace", STRING, [STRING, STRING], STRING, function (part, by) {
      return replaced(this, part, by, -1);
    }),
    cel.celMethod("replace", STRING, [STRING, STRING, INT], STRING, function (part, by, most) {
      return replaced(this, part, by, Number(most));
    }),
  ];
}

/** The library's words for what cel-go says otherwise. */
function goWords(message: string): string {
  const key = /(?:field|key)[^:]*: *([^ ]+)|no such (?:key|field):? *'?([^ ']+)'?/i.exec(message);
  const name = key?.[1] ?? key?.[2];
  return name === undefined ? message : `no such key: ${name}`;
}

/** Kubernetes' additions that the CRDs of Istio and the Gateway API use, and two conversions with cel-go's errors. */
function kubernetesFunctions(cel: typeof import("@bufbuild/cel")): CelFunc[] {
  const { BOOL, INT, STRING } = cel.CelScalar;
  const url = cel.mapType(STRING, STRING);
  const part = (method: string, name: string): CelFunc =>
    cel.celMethod(method, url, [], STRING, function () {
      const value = this.get(name);
      return typeof value === "string" ? value : "";
    });
  return [
    cel.celFunc("isURL", [STRING], BOOL, (text) => !("error" in parseRequestUri(text))),
    cel.celFunc("url", [STRING], url, (text) => {
      const parsed = parseRequestUri(text);
      if ("error" in parsed) throw new Error(`URL parse error during conversion from string: ${parsed.error}`);
      return new Map(Object.entries(parsed));
    }),
    part("getScheme", "scheme"),
    part("getHost", "host"),
    part("getEscapedPath", "path"),
    cel.celFunc("isIP", [STRING], BOOL, (text) => isIP(text) !== 0 && !text.includes("%")),
    cel.celFunc("int", [STRING], INT, (text) => {
      if (!/^[+-]?\d+$/.test(text)) throw new Error("type conversion error from 'string' to 'int'");
      return BigInt(text);
    }),
    ...durations(cel),
  ];
}

/** Go's durations (`1h2m`), counted in nanoseconds so that they compare as numbers. */
function durations(cel: typeof import("@bufbuild/cel")): CelFunc[] {
  const { INT, STRING } = cel.CelScalar;
  return [
    cel.celFunc("duration", [STRING], INT, (text) => {
      const nanos = parseDuration(text);
      if (nanos === undefined) throw new Error("type conversion error from 'string' to 'google.protobuf.Duration'");
      return nanos;
    }),
  ];
}
