/** One request in, its answer out: authenticate, route, authorise, handle. The only way into the API. */
import type { TLSSocket } from "node:tls";
import { FairleadError, isRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { authenticate } from "./authenticate.ts";
import { type Action, type Authorizer, createAuthorizer } from "./authorizer.ts";
import { asKind, parseBody, readBody } from "./body.ts";
import type { Parts, WriteContext } from "./context.ts";
import { deleteCollection, deleteObject } from "./delete.ts";
import { failure, statusOf } from "./failure.ts";
import { impersonate } from "./impersonate.ts";
import type { OtherPaths } from "./other-paths.ts";
import { patchFrom } from "./patch.ts";
import { getAnswer, listAnswer, objectAnswer } from "./read.ts";
import { wantedForm } from "./represent.ts";
import { type ResourceRequest, route } from "./request.ts";
import { headerOf, type Request, type Response, sendBytes, sendJson, streamSink, warningHeader } from "./respond.ts";
import type { Tokens } from "./tokens.ts";
import type { User } from "./user.ts";
import { createToken, finalizersOf, reviewOf } from "./virtual.ts";
import { serveWatch, type WatchTimes } from "./watch.ts";
import { changeObject, createObject, updateObject } from "./write.ts";

export interface HandlerOptions extends Parts {
  readonly tokens: Tokens;
  readonly other: OtherPaths;
  readonly watchTimes: WatchTimes;
}

export type Handler = (request: Request, response: Response) => Promise<void>;

export function createHandler(options: HandlerOptions): Handler {
  const authorizer = createAuthorizer(options.store);
  return async (request, response) => {
    const warnings: string[] = [];
    try {
      const user = impersonate(authorizer, await identify(options.tokens, request), request);
      await answer(options, authorizer, user, request, response, warnings);
    } catch (error) {
      const status = statusOf(error);
      if (status.code >= 500)
        options.log.error(`${request.method} ${request.url?.split("?")[0]}: ${FairleadError.from(error).message}`);
      if (response.headersSent) response.destroy();
      else sendJson(request, response, status.code, status, { warning: warningHeader(warnings) });
    }
  };
}

async function identify(tokens: Tokens, request: Request): Promise<User> {
  const user = await authenticate(tokens, socketOf(request), headerOf(request, "authorization"));
  if ("error" in user) throw failure("Unauthorized", "Unauthorized");
  return user;
}

function socketOf(request: Request): TLSSocket {
  return ("stream" in request && request.stream.session ? request.stream.session.socket : request.socket) as TLSSocket;
}

async function answer(
  options: HandlerOptions,
  authorizer: Authorizer,
  user: User,
  request: Request,
  response: Response,
  warnings: string[],
): Promise<void> {
  const method = request.method ?? "GET";
  const found = route(options.registry, method, request.url ?? "/");
  if (found.type !== "resource") {
    check(authorizer, user, { verb: method.toLowerCase(), path: found.path });
    const body =
      found.type === "other" && (method === "GET" || method === "HEAD")
        ? options.other.get(found.path, headerOf(request, "accept"))
        : undefined;
    if (body === undefined) throw failure("NotFound", "the server could not find the requested resource");
    if ("bytes" in body) sendBytes(response, body.bytes, body.contentType);
    else
      sendJson(
        request,
        response,
        200,
        body.json,
        body.contentType === undefined ? {} : { "content-type": body.contentType },
      );
    return;
  }
  check(authorizer, user, actionOf(found.request));
  await resource(options, user, found.request, request, response, warnings);
}

function check(authorizer: Authorizer, user: User, action: Action): void {
  if (authorizer.authorize(user, action).allowed) return;
  if ("path" in action)
    throw failure("Forbidden", `forbidden: User "${user.name}" cannot ${action.verb} path "${action.path}"`);
  const what = action.subresource === "" ? action.resource : `${action.resource}/${action.subresource}`;
  const where = action.namespace === "" ? "at the cluster scope" : `in the namespace "${action.namespace}"`;
  const full = `${what}${action.group === "" ? "" : `.${action.group}`}`;
  throw failure(
    "Forbidden",
    `${full}${action.name === "" ? "" : ` "${action.name}"`} is forbidden: User "${user.name}" cannot ${action.verb} resource "${what}" in API group "${action.group}" ${where}`,
    { name: action.name, group: action.group, kind: action.resource },
  );
}

function actionOf(request: ResourceRequest): Action {
  const { kind, verb, namespace, name, subresource } = request;
  // A Namespace is its own namespace: a Role in it may speak of it.
  const own = kind.group === "" && kind.kind === "Namespace" ? (name ?? "") : (namespace ?? "");
  return {
    verb,
    group: kind.group,
    resource: kind.plural,
    subresource: subresource ?? "",
    namespace: own,
    name: name ?? "",
  };
}

async function resource(
  options: HandlerOptions,
  user: User,
  found: ResourceRequest,
  request: Request,
  response: Response,
  warnings: string[],
): Promise<void> {
  const form = wantedForm(headerOf(request, "accept"));
  if (!found.kind.verbs.includes(found.verb) && found.subresource === undefined)
    throw failure("MethodNotAllowed", "the server does not allow this method on the requested resource");
  if (found.verb === "watch") {
    serveWatch(options, found, form, options.watchTimes, streamSink(response));
    return;
  }
  if (found.verb === "get" || found.verb === "list") {
    sendJson(
      request,
      response,
      200,
      found.verb === "get" ? getAnswer(options, found, form) : listAnswer(options, found, form, user),
    );
    return;
  }
  const context: WriteContext = {
    ...options,
    user,
    request: found,
    warn: (text) => warnings.push(text),
    dryRun: isDryRun(found.query),
    fieldManager: managerName(found.query, headerOf(request, "user-agent")),
  };
  const contentType = headerOf(request, "content-type") ?? "";
  const bytes = await readBody(request, headerOf(request, "content-encoding"));
  await options.shaper.ready(found.kind);
  const { code, body } = await write(context, options.tokens, contentType, bytes);
  const shown =
    isRecord(body) && isRecord(body.metadata) && typeof body.kind === "string" && body.kind !== "Status"
      ? objectAnswer(options, found, body as KubeObject, form)
      : body;
  sendJson(request, response, code, shown, { warning: warningHeader(warnings) });
}

async function write(
  context: WriteContext,
  tokens: Tokens,
  contentType: string,
  bytes: Buffer,
): Promise<{ readonly code: number; readonly body: unknown }> {
  const { kind, verb, subresource } = context.request;
  const parse = (): unknown => parseBody(context.definitions, kind, bytes, contentType);
  switch (verb) {
    case "create": {
      const body = parse();
      if (subresource !== undefined) return { code: 201, body: await createSubresource(context, tokens, body) };
      const review = reviewOf(kind.kind);
      if (review && kind.verbs.length === 1)
        return { code: 201, body: await review(context, tokens, asKind(body, kind)) };
      return { code: 201, body: await createObject(context, asKind(body, kind)) };
    }
    case "update": {
      const body = parse();
      if (subresource === "finalize") return { code: 200, body: await finalize(context, body) };
      return { code: 200, body: await updateObject(context, asKind(body, kind)) };
    }
    case "patch":
      return patchFrom(context, contentType, bytes);
    case "delete":
      return { code: 200, body: await deleteObject(context, parse()) };
    case "deletecollection":
      return { code: 200, body: await deleteCollection(context, parse()) };
    default:
      throw failure("MethodNotAllowed", "the server does not allow this method on the requested resource");
  }
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
