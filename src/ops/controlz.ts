/** Log scopes in; Istio's ControlZ out, as far as `istioctl admin log` and people use it: `/scopej`, `/versionj`. */
import { isLogLevel, isRecord, type LogScopes, parseJson } from "../lib/index.ts";
import type { HttpAnswer, HttpHandler, HttpRequest } from "./http-server.ts";
import { versionInfo } from "./version.ts";

export interface ControlZSources {
  readonly scopes: LogScopes;
  /** What a scope is about, for people. */
  describe(scope: string): string;
}

type LogScope = ReturnType<LogScopes["scope"]>;

const plain = "text/plain; charset=utf-8";

/** By path; who may ask is for the caller to say. */
export function controlZRoutes(sources: ControlZSources): readonly (readonly [string, HttpHandler])[] {
  const scopes: HttpHandler = (request) => answerScopes(sources, request);
  const version: HttpHandler = ({ method }) => (method === "GET" ? json(versionInfo()) : wrongMethod);
  return [
    ["/", ({ url }) => (url.pathname === "/" ? { status: 200, type: plain, body: index } : notFound)],
    ["/scopej", scopes],
    ["/scopej/", scopes],
    ["/versionj", version],
    ["/versionj/", version],
  ];
}

const index =
  "/scopej/    log scopes and their levels; PUT /scopej/NAME changes one\n/versionj/  which version this is\n";
const notFound: HttpAnswer = { status: 404, body: "404 page not found\n" };
const wrongMethod: HttpAnswer = { status: 405, body: "" };

async function answerScopes(sources: ControlZSources, request: HttpRequest): Promise<HttpAnswer> {
  const name = nameIn(request.url.pathname);
  if (name === "") {
    if (request.method !== "GET") return wrongMethod;
    return json(sources.scopes.list().map((scope) => shown(sources, scope)));
  }
  const scope = name === undefined ? undefined : sources.scopes.find(name);
  if (!scope) return { status: 400, body: `unknown scope name: ${name}` };
  if (request.method === "GET") return json(shown(sources, scope));
  return request.method === "PUT" ? change(scope, await request.body()) : wrongMethod;
}

function nameIn(path: string): string | undefined {
  try {
    return decodeURIComponent(path.replace(/^\/scopej\/?/, ""));
  } catch {
    return undefined;
  }
}

/** As istiod does: what is absent, or no level, leaves a level as it is; callers are always told anew. */
function change(scope: LogScope, body: string): HttpAnswer {
  const asked = readObject(body);
  if (!asked) return { status: 400, body: "unable to decode request: the body is no JSON object" };
  const { output_level: output, stack_trace_level: stack, log_callers: callers } = asked;
  if (isLogLevel(output)) scope.outputLevel = output;
  if (isLogLevel(stack)) scope.stackTraceLevel = stack;
  scope.logCallers = callers === true;
  return { status: 202, body: "" };
}

function readObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseJson(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function shown({ describe }: ControlZSources, scope: LogScope): object {
  return {
    name: scope.name,
    description: describe(scope.name),
    output_level: scope.outputLevel,
    stack_trace_level: scope.stackTraceLevel,
    log_callers: scope.logCallers,
  };
}

const json = (value: unknown): HttpAnswer => ({
  status: 200,
  type: "application/json; charset=utf-8",
  body: `${JSON.stringify(value)}\n`,
});
