/**
 * A browser of this machine in; the page of a control plane elsewhere out. The browser signs in here, with a link that is
 * good once; whoever asks the control plane for it adds who the user is there, which the browser never learns.
 */
import type { IncomingMessage } from "node:http";
import { collectBytes, FairleadError } from "../../lib/index.ts";
import { type HttpAnswer, type HttpHandler, type HttpRequest, type HttpStream, statusOf } from "../../ops/index.ts";
import { type Apply, answerEdit } from "./edit.ts";
import { exchange, notSignedIn } from "./exchange.ts";
import { pageHeaders } from "./headers.ts";
import { json } from "./json.ts";
import { isSameSite } from "./same-site.ts";
import { createSessions, type SessionsOptions } from "./sessions.ts";

export interface RelayedRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly type: string;
  /** False: anybody may have the answer, and nobody needs to be named. */
  readonly isOwn: boolean;
}

export interface RelayOptions extends SessionsOptions {
  /** Applies what the user writes, with what they reach the API with; absent: the page is for reading. */
  readonly apply?: Apply;
  readonly forward: (request: RelayedRequest, signal: AbortSignal) => Promise<IncomingMessage>;
}

const maxAnswerBytes = 64 * 1024 * 1024;

export function createRelay(options: RelayOptions): HttpHandler {
  const sessions = createSessions(options);

  async function answer(request: HttpRequest): Promise<HttpAnswer> {
    const { url, method, headers } = request;
    if (!isSameSite(headers)) return json(403, { error: "this page is asked for as localhost, or by its address" });
    const isOwn = url.pathname.startsWith("/api/");
    if (url.pathname === "/api/session") return method === "POST" ? exchange(request, sessions) : notSignedIn;
    const bearer = /^Bearer (\S{1,200})$/.exec(headers.authorization ?? "")?.[1] ?? "";
    if (isOwn && !sessions.isBearer(bearer)) return notSignedIn;
    // The control plane has no credentials of theirs: what they may do here is decided here.
    const edited = isOwn ? await answerEdit(request, options.apply) : undefined;
    if (edited) return edited;
    const stop = new AbortController();
    // Who asks the control plane goes with whoever asked here.
    request.signal.addEventListener("abort", () => stop.abort(), { once: true });
    const body = method === "GET" || method === "HEAD" ? "" : await request.body();
    const type = headers["content-type"] ?? "";
    const path = url.pathname + url.search;
    return relayed(await options.forward({ method, path, body, type, isOwn }, stop.signal), stop);
  }

  return async (request) => ({ ...(await answer(request).catch(unreachable)), headers: pageHeaders });
}

async function relayed(from: IncomingMessage, stop: AbortController): Promise<HttpAnswer> {
  const [status, type = "text/plain"] = [from.statusCode ?? 502, from.headers["content-type"]];
  if (type === "text/event-stream") return { status, type, body: (stream) => pass(from, stream, stop) };
  const bytes = collectBytes();
  for await (const chunk of from) {
    bytes.add(chunk as Buffer);
    if (bytes.size > maxAnswerBytes) throw new FairleadError("too-large", "the control plane's answer is too large");
  }
  return { status, type, body: bytes.whole() };
}

/** Frames say only that something has moved: who does not read them misses nothing by fewer. */
function pass(from: IncomingMessage, stream: HttpStream, stop: AbortController): void {
  from.setEncoding("utf8");
  from.on("data", (text: string) => {
    if (!stream.isBehind()) stream.write(text);
  });
  from.on("close", () => stream.end());
  from.on("error", () => stream.end());
  stream.onClose(() => stop.abort());
}

function unreachable(thrown: unknown): HttpAnswer {
  const { code, message, hint } = FairleadError.from(thrown);
  const status =
    code === "forbidden" || code === "invalid" || code === "too-large" ? statusOf(FairleadError.from(thrown)) : 502;
  return json(status, { error: message, ...(hint === undefined ? {} : { remedy: hint }) });
}
