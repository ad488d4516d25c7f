/** One request in, its answer out: authenticate, route, authorise, handle. The only way into the API. */
import { createInflow, FairleadError, type Inflow, isRecord, type Overload } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { asKind, parseBody } from "./body.ts";
import { type ComputedParts, computedObjects, isComputed } from "./computed-objects.ts";
import type { WriteContext } from "./context.ts";
import { deleteCollection, deleteObject } from "./delete.ts";
import { failure, isTold, type Status, statusOf } from "./failure.ts";
import { fieldValidationOf } from "./field-validation.ts";
import { requireAllowed } from "./forbidden.ts";
import { identify } from "./identify.ts";
import { podStreams } from "./kind.ts";
import type { ApiMetrics } from "./metrics.ts";
import { noConnections, requireMemory } from "./no-room.ts";
import type { OtherPaths } from "./other-paths.ts";
import { createPace, type Pace } from "./pace.ts";
import { patchFrom } from "./patch.ts";
import { getAnswer, listAnswer, listPage, objectAnswer, textOf } from "./read.ts";
import { maxInflowBytes, readBody } from "./read-body.ts";
import { wantedForm } from "./represent.ts";
import { actionOf, parseRequest, type ResourceRequest, resolveRequest, unknownPath } from "./request.ts";
import {
  headerOf,
  type Request,
  type Response,
  sendBytes,
  sendJson,
  sendPieces,
  sendText,
  streamSink,
  warningHeader,
} from "./respond.ts";
import { scaleOf, withScale } from "./scale.ts";
import { sendLog } from "./streams/relay.ts";
import { tellFields } from "./strict-fields.ts";
import type { Tokens } from "./tokens.ts";
import type { User } from "./user.ts";
import { createToken, finalizersOf, reviewOf } from "./virtual.ts";
import { serveWatch, type WatchTimes } from "./watch.ts";
import { changeObject, createObject, updateObject } from "./write.ts";

export interface HandlerOptions extends ComputedParts {
  readonly tokens: Tokens;
  readonly other: OtherPaths;
  readonly watchTimes: WatchTimes;
  readonly metrics: ApiMetrics;
  readonly overload: Overload | undefined;
}

interface Serving extends HandlerOptions {
  readonly inflow: Inflow;
}

/** `isRefused`: its connection was let in only to be told that there is no room. */
export type Handler = (request: Request, response: Response, isRefused: boolean) => Promise<void>;

export function createHandler(given: HandlerOptions): Handler {
  const options: Serving = { ...given, inflow: createInflow(maxInflowBytes) };
  return async (request, response, isRefused) => {
    const warnings: string[] = [];
    const pace = createPace(options.watchdog, `${request.method} ${request.url?.split("?")[0]}`);
    try {
      if (isRefused) throw noConnections();
      const user = await identify(options.tokens, options.authorizer, request);
      await answer(options, user, request, response, warnings, pace);
    } catch (error) {
      const status = statusOf(error);
      if (status.code >= 500 && !isRefused && !isTold(error))
        options.log.error(`${request.method} ${request.url?.split("?")[0]}: ${FairleadError.from(error).message}`);
      if (response.headersSent) response.destroy();
      else
        sendJson(request, response, status.code, status, { warning: warningHeader(warnings), ...retryHeader(status) });
      if (isRefused) endConnection(request, response);
    }
    options.metrics.answered(request.method ?? "", response.statusCode);
  };
}

function retryHeader({ details }: Status): Readonly<Record<string, string>> {
  const seconds = details?.retryAfterSeconds;
  return typeof seconds === "number" ? { "retry-after": String(seconds) } : {};
}

function endConnection(request: Request, response: Response): void {
  response.once("finish", () => {
    if ("stream" in request) request.stream.session?.close();
    else request.socket.destroySoon();
  });
}

async function answer(
  options: Serving,
  user: User,
  request: Request,
  response: Response,
  warnings: string[],
  pace: Pace,
): Promise<void> {
  const method = request.method ?? "GET";
  const asked = parseRequest(method, request.url ?? "/");
  requireAllowed(options.authorizer, user, actionOf(asked));
  if (asked.type === "objects") {
    await resource(options, user, resolveRequest(options.registry, asked), request, response, warnings, pace);
    return;
  }
  const isRead = method === "GET" || method === "HEAD";
  if (isRead && asked.path === "/metrics") {
    sendBytes(response, Buffer.from(await options.metrics.text()), "text/plain; version=0.0.4; charset=utf-8");
    return;
  }
  const body = isRead ? options.other.get(asked.path, headerOf(request, "accept")) : undefined;
  if (body === undefined) throw unknownPath();
  if ("bytes" in body) sendBytes(response, body.bytes, body.contentType);
  else
    sendJson(
      request,
      response,
      200,
      body.json,
      body.contentType === undefined ? {} : { "content-type": body.contentType },
    );
}

async function resource(
  options: Serving,
  user: User,
  found: ResourceRequest,
  request: Request,
  response: Response,
  warnings: string[],
  pace: Pace,
): Promise<void> {
  requireMemory(options.overload, found);
  const form = wantedForm(headerOf(request, "accept"));
  if (podStreams.includes(found.subresource ?? "")) {
    if (found.subresource !== "log") throw failure("BadRequest", "Upgrade request required");
    await sendLog(options, found, response);
    return;
  }
  if (isComputed(found.kind)) {
    const items = await computedObjects(options, found, pace);
    const page = { items, version: options.store.version, next: undefined, remaining: 0 };
    const [only] = items;
    if (found.verb === "get" && only) sendJson(request, response, 200, objectAnswer(options, found, only, form));
    else await sendPieces(request, response, listAnswer(options, found, form, page), pace);
    return;
  }
  if (found.verb === "watch") {
    serveWatch(options, found, form, options.watchTimes, streamSink(response));
    return;
  }
  if (found.verb === "list") {
    const page = await listPage(options, found, user, pace);
    await sendPieces(request, response, listAnswer(options, found, form, page), pace);
    return;
  }
  if (found.verb === "get") {
    const text = textOf(options, found.kind, getAnswer(options, found, form));
    sendText(request, response, 200, `${text}\n`);
    return;
  }
  const contentType = headerOf(request, "content-type") ?? "";
  const settings = {
    dryRun: isDryRun(found.query),
    fieldManager: managerName(found.query, headerOf(request, "user-agent")),
    fieldValidation: fieldValidationOf(found.query),
  };
  const bytes = await readBody(request, {
    encoding: headerOf(request, "content-encoding"),
    inflow: options.inflow,
    client: user.name,
  });
  await options.shaper.ready(found.kind);
  pace.resume();
  const { value, repeated } = await pace.run(parseBody(options.definitions, found.kind, bytes, contentType));
  await pace.pause();
  const warn = (text: string): unknown => warnings.push(text);
  const context: WriteContext = { ...options, ...settings, user, request: found, pace, warn, repeated };
  const { code, body } = await write(context, options.tokens, contentType, value);
  const shown =
    isRecord(body) && isRecord(body.metadata) && typeof body.kind === "string" && body.kind !== "Status"
      ? objectAnswer(options, found, body as KubeObject, form)
      : body;
  await pace.pause();
  const text = textOf(options, found.kind, shown);
  sendText(request, response, code, `${text}\n`, { warning: warningHeader(warnings) });
}

async function write(
  context: WriteContext,
  tokens: Tokens,
  contentType: string,
  body: unknown,
): Promise<{ readonly code: number; readonly body: unknown }> {
  const { kind, verb, subresource } = context.request;
  switch (verb) {
    case "create":
      return { code: 201, body: await create(context, tokens, body) };
    case "update":
      if (subresource === "finalize") return { code: 200, body: await finalize(context, body) };
      if (subresource === "scale")
        return {
          code: 200,
          body: scaleOf(kind, await changeObject(context, (before) => withScale(kind, before, body))),
        };
      return updateObject(context, asKind(body, kind));
    case "patch":
      return patchFrom(context, contentType, body);
    case "delete":
      return { code: 200, body: await deleteObject(context, body) };
    case "deletecollection":
      return { code: 200, body: await deleteCollection(context, body) };
    default:
      throw failure("MethodNotAllowed", "the server does not allow this method on the requested resource");
  }
}

async function create(context: WriteContext, tokens: Tokens, body: unknown): Promise<unknown> {
  const { kind, subresource } = context.request;
  const review = kind.verbs.length === 1 ? reviewOf(kind.kind) : undefined;
  if (subresource === undefined && !review) return createObject(context, asKind(body, kind));
  tellFields(context, []);
  return review && subresource === undefined
    ? review(context, tokens, asKind(body, kind))
    : createSubresource(context, tokens, body);
}

async function createSubresource(context: WriteContext, tokens: Tokens, body: unknown): Promise<unknown> {
  const fields = isRecord(body) ? body : {};
  switch (context.request.subresource) {
    case "token":
      return createToken(context, tokens, fields);
    case "eviction":
      await deleteObject(context, fields.deleteOptions);
      return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };
    default:
      throw failure("MethodNotAllowed", "the server does not allow this method on the requested resource");
  }
}

/** Whoever empties a Namespace says here that it is done. */
function finalize(context: WriteContext, body: unknown): Promise<KubeObject> {
  const finalizers = finalizersOf(body);
  return changeObject(context, (before) => ({
    ...before,
    spec: { ...(isRecord(before.spec) ? before.spec : {}), finalizers },
  }));
}

function isDryRun(query: URLSearchParams): boolean {
  const asked = query.getAll("dryRun");
  if (asked.some((value) => value !== "All" && value !== ""))
    throw failure("Invalid", `dryRun: Unsupported value: supported values: "All"`);
  return asked.includes("All");
}

/** Kubernetes falls back to the first word of the user agent. */
function managerName(query: URLSearchParams, agent: string | undefined): string {
  return query.get("fieldManager") || (agent ?? "unknown").split("/")[0]?.split(" ")[0] || "unknown";
}
