/** HTTP header names and values in, the reason why Envoy or Istio would not take them (or undefined) out. */
import type { HeaderOperations, RouteHeaders } from "../../model/index.ts";
import { quote, type Report } from "./report.ts";

const empty = "header name cannot be empty";
const token = /^[!#$%&'*+\-.^_`|~A-Za-z0-9]+$/;

function nameError(name: string, allowed: RegExp): string | undefined {
  if (name === "") return empty;
  return allowed.test(name) ? undefined : `header name ${name} is not a valid header name`;
}

export const strictNameError = (name: string): string | undefined => nameError(name, /^[-_A-Za-z0-9]+$/);

/** As Kubernetes has it for probes. */
export const probeNameError = (name: string): string | undefined => nameError(name, /^[-A-Za-z0-9]+$/);

export const corsNameError = (name: string): string | undefined => (name === "*" ? undefined : nameError(name, token));

const pseudo: ReadonlySet<string> = new Set([":method", ":scheme", ":authority", ":path", ":status"]);

/** A match may also name a pseudo header, or a claim of the JWT. */
export const matchNameError = (name: string): string | undefined =>
  isClaim(name) || pseudo.has(name) ? undefined : nameError(name, token);

const claimPrefix = "@request.auth.claims";

/** `@request.auth.claims.a.b` or `@request.auth.claims[a][b]`: routing by claim, which only gateways can. */
export function isClaim(name: string): boolean {
  if (!name.toLowerCase().startsWith(claimPrefix)) return false;
  const rest = name.slice(claimPrefix.length);
  return (rest.startsWith(".") && rest.length > 1) || (rest.startsWith("[") && rest.endsWith("]") && rest.length > 2);
}

const isHost = (name: string): boolean => name.toLowerCase() === "host";

export const isAuthority = (name: string): boolean => isHost(name) || name.toLowerCase() === ":authority";

const colonError = (name: string): string => `invalid header ${quote(name)}: header cannot have ":" prefix`;

/** Requests may have their authority set; nothing else that starts with a colon. */
function requestNameError(name: string): string | undefined {
  if (name === "") return empty;
  return name.startsWith(":") && !isAuthority(name) ? colonError(name) : undefined;
}

function plainNameError(name: string): string | undefined {
  if (name === "") return empty;
  if (isHost(name)) return `invalid header ${quote(name)}: cannot set Host header`;
  return name.startsWith(":") ? colonError(name) : undefined;
}

export function checkHeaders(report: Report, headers: RouteHeaders | undefined): void {
  checkOperations(report.at("request"), headers?.request, requestNameError);
  checkOperations(report.at("response"), headers?.response, plainNameError);
}

function checkOperations(
  report: Report,
  operations: HeaderOperations | undefined,
  wrongName: (name: string) => string | undefined,
): void {
  for (const kind of ["add", "set"] as const)
    for (const [name, value] of Object.entries(operations?.[kind] ?? {})) {
      report.at(kind).error(wrongName(name));
      report.at(kind).error(headerValueError(value));
    }
  operations?.remove?.forEach((name, i) => {
    report.at("remove", i).error(plainNameError(name));
  });
}

function headerValueError(value: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value)) return `header value configuration ${value} is invalid`;
  const wrong = formatError(value);
  return wrong === undefined ? undefined : `header value configuration: invalid header configuration. ${wrong}`;
}

type State = "text" | "name" | "args" | "string-start" | "string" | "delimiter" | "args-end" | "end";

/** Envoy's `%VARIABLE(["arg", …])%` in header values: what is wrong with it, not whether Envoy knows the variable. */
function formatError(value: string): string | undefined {
  let state: State = "text";
  for (let i = 0; i < value.length; i++) {
    const c = value[i] ?? "";
    const last = i + 1 === value.length;
    if (state === "text" && c === "%") {
      if (last) return "Un-escaped %";
      if (value[i + 1] === "%") i++;
      else state = "name";
    } else if (state === "string" && c === "\\") {
      if (last) return "Un-terminated backslash in JSON string";
      i++;
    } else {
      const next = advance(state, c);
      if ("error" in next) return next.error;
      state = next.state;
    }
  }
  return state === "text" ? undefined : `Un-terminated variable expression '${value}'`;
}

const transitions: Readonly<Record<State, ReadonlyMap<string, State>>> = {
  text: new Map(),
  name: new Map([
    ["%", "text"],
    ["(", "args"],
  ]),
  args: new Map([["[", "string-start"]]),
  "string-start": new Map([['"', "string"]]),
  string: new Map([
    [")", "end"],
    ['"', "delimiter"],
  ]),
  delimiter: new Map([
    [",", "string-start"],
    ["]", "args-end"],
  ]),
  "args-end": new Map([[")", "end"]]),
  end: new Map([["%", "text"]]),
};

const expected: Partial<Readonly<Record<State, string>>> = {
  "string-start": "Expecting '\"'",
  delimiter: "Expecting ',', ']', or whitespace",
  "args-end": "Expecting ')' or whitespace after '{}', but found '{}'",
  end: "Expecting '%' or whitespace after",
};

function advance(state: State, c: string): { readonly state: State } | { readonly error: string } {
  const next = transitions[state].get(c);
  if (next) return { state: next };
  if (c === " ") return { state };
  // An argument that is not a JSON array is one text up to the closing parenthesis.
  if (state === "args") return { state: "string" };
  const error = expected[state];
  return error === undefined ? { state } : { error };
}
