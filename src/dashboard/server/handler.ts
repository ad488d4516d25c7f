/** A request of a browser in; the page, or what it asks of the mesh, out. Whatever is not declared is refused. */
import { FairleadError, parseJson, readRecord, readText } from "../../lib/index.ts";
import { type HttpAnswer, type HttpHandler, type HttpRequest, statusOf } from "../../ops/index.ts";
import type { MeshReads } from "../mesh-reads.ts";
import { loadAssets } from "./assets.ts";
import { pageHeaders } from "./headers.ts";
import { createLive } from "./live.ts";
import { type ApiRoute, createRoutes } from "./routes.ts";
import { isSameSite } from "./same-site.ts";
import { createSessions } from "./sessions.ts";
import { shared } from "./shared.ts";

export interface DashboardOptions {
  readonly reads: MeshReads;
  /** Of the built page. */
  readonly folder: string;
  /** Proves tokens and bearers; kept where a page is to outlive a restart. */
  readonly secret: Uint8Array;
  readonly nowMs: () => number;
  /** Told of each request that was refused, with why in a word. */
  readonly onRefused?: (why: "site" | "token" | "streams") => void;
}

const maxTokenBytes = 1000;

export function createDashboard(options: DashboardOptions): HttpHandler {
  const assets = loadAssets(options.folder);
  const sessions = createSessions(options);
  const routes = createRoutes(options.reads);
  const live = createLive(options.reads.moves);

  async function answer(request: HttpRequest): Promise<HttpAnswer> {
    const { url, method, headers } = request;
    if (!isSameSite(headers)) {
      options.onRefused?.("site");
      return plain(403, "this page is asked for by the name of this machine: localhost or its address\n");
    }
    if (!url.pathname.startsWith("/api/")) return method === "GET" || method === "HEAD" ? page(url) : notAllowed;
    if (url.pathname === "/api/session") return method === "POST" ? await exchange(request) : notAllowed;
    const bearer = /^Bearer (\S{1,200})$/.exec(headers.authorization ?? "")?.[1] ?? "";
    if (!sessions.isBearer(bearer)) {
      options.onRefused?.("token");
      return json(401, { error: "this page is not signed in", remedy: "run `fairlead dashboard` for a new link" });
    }
    if (method !== "GET") return notAllowed;
    if (url.pathname === "/api/live") return follow();
    return await (routeOf(url)?.isOwn ? answered(url) : sharedAnswers(url));
  }

  const routeOf = (url: URL): ApiRoute | undefined => routes.get(url.pathname.slice("/api/".length));

  async function answered(url: URL): Promise<HttpAnswer> {
    const found = await routeOf(url)?.answer(url.searchParams);
    return found === undefined ? json(404, { error: "there is no such thing" }) : json(200, found);
  }

  const sharedAnswers = shared(options.reads.moves, answered);

  function page(url: URL): HttpAnswer {
    const asset = assets(url.pathname);
    return asset ? { status: 200, ...asset } : plain(404, "404 page not found\n");
  }

  async function exchange(request: HttpRequest): Promise<HttpAnswer> {
    const body = await request.body();
    const token = body.length > maxTokenBytes ? "" : readText(readRecord(parseJson(body)).token);
    const bearer = sessions.exchange(token);
    if (bearer !== undefined) return json(200, { bearer });
    options.onRefused?.("token");
    return json(401, {
      error: "this link has been used or is too old",
      remedy: "run `fairlead dashboard` for a new one",
    });
  }

  function follow(): HttpAnswer {
    if (live.admits()) return { status: 200, type: "text/event-stream", body: (stream) => live.follow(stream) };
    options.onRefused?.("streams");
    return { ...json(503, { error: "too many pages are open" }), retryAfterSeconds: 30 };
  }

  return async (request) => ({ ...(await answer(request).catch(refusal)), headers: pageHeaders });
}

/** What whoever asks can do something about; anything else is a fault of ours. */
function refusal(thrown: unknown): HttpAnswer {
  const { code, message, hint } = FairleadError.from(thrown);
  if (code === "internal") throw thrown;
  return json(statusOf(FairleadError.from(thrown)), {
    error: message,
    ...(hint === undefined ? {} : { remedy: hint }),
  });
}

const plain = (status: number, body: string): HttpAnswer => ({ status, body });
const json = (status: number, body: unknown): HttpAnswer => ({
  status,
  type: "application/json",
  body: JSON.stringify(body),
});
const notAllowed = plain(405, "405 method not allowed\n");
