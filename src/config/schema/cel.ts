/**
 * CEL as the API server runs it: a rule's text in, a compiled function out. The library is loaded when the first rule
 * is needed; every rule is compiled once. A loop in a rule pays for what it goes over before it begins, so that rules
 * within rules over long lists end in an error instead of holding everybody up.
 */
import { isIP } from "node:net";
import type { CelError, CelFunc, CelInput, CelValue } from "@bufbuild/cel";
import { parseDuration } from "../../lib/index.ts";
import { parseRequestUri } from "./go-url.ts";

export type CelBindings = Readonly<Record<string, CelInput>>;

export type CelVerdict = { readonly value: unknown } | { readonly error: string };

/** Entries of lists and maps that all rules of one object together may go over. */
const maxEntries = 30_000;

export interface CelRules {
  /** The same rules, with what one object may spend. */
  forOne(): CelRules;
  evaluate(expression: string, bindings: CelBindings): CelVerdict;
  /** Undefined where the text is CEL. */
  syntaxError(expression: string): string | undefined;
}

export async function loadCel(): Promise<CelRules> {
  const cel = await import("@bufbuild/cel");
  const { strings } = await import("@bufbuild/cel/ext");
  const { DYN } = cel.CelScalar;
  let left = maxEntries;
  const spend = cel.celFunc(pays, [DYN], DYN, (range) => {
    if (cel.isCelList(range) || cel.isCelMap(range)) left -= range.size;
    if (left < 0) throw new Error(`the rules go over more than ${maxEntries} entries: call cost exceeds limit`);
    return range;
  });
  const env = cel.celEnv({ funcs: [...strings, ...kubernetesFunctions(cel), spend] });
  const compiled = new Map<string, (bindings?: Record<string, CelInput>) => CelValue | CelError>();
  const compile = (expression: string): ((bindings?: Record<string, CelInput>) => CelValue | CelError) => {
    const known = compiled.get(expression);
    if (known) return known;
    const parsed = cel.parse(expression);
    makeLoopsPay(cel, parsed.expr);
    const made = cel.plan(env, parsed);
    compiled.set(expression, made);
    return made;
  };
  const rules = (budget: { left: number } | undefined): CelRules => ({
    forOne: () => rules({ left: maxEntries }),
    syntaxError(expression) {
      try {
        cel.parse(expression);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
    evaluate(expression, bindings) {
      left = budget?.left ?? maxEntries;
      try {
        const result = compile(expression)(bindings);
        return cel.isCelError(result) ? { error: goWords(result.message) } : { value: result };
      } catch (error) {
        return { error: goWords(error instanceof Error ? error.message : String(error)) };
      } finally {
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

/** What each loop goes over is handed through `pays` first. */
function makeLoopsPay(cel: Cel, node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  for (const child of Object.values(node)) makeLoopsPay(cel, child);
  const kind = "exprKind" in node ? (node as Expr).exprKind : undefined;
  if (kind?.case !== "comprehensionExpr" || !kind.value.iterRange) return;
  const { expr: call } = cel.parse("f()");
  if (call?.exprKind.case !== "callExpr") throw new Error("a call is no call");
  call.exprKind.value.function = pays;
  call.exprKind.value.args = [kind.value.iterRange];
  kind.value.iterRange = call;
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
