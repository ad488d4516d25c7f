/** A request of a browser in; the page, or what it asks of the mesh, out. Whatever is not declared is refused. */
import { FairleadError } from "../../lib/index.ts";
import { type HttpAnswer, type HttpHandler, type HttpRequest, statusOf } from "../../ops/index.ts";
import type { MeshReads } from "../../read-api/index.ts";
import type { ApplyAnswer, ApplyQuestion } from "../apply-write.ts";
import { loadAssets } from "./assets.ts";
import { answerEdit } from "./edit.ts";
import { exchange, notSignedIn } from "./exchange.ts";
import { pageHeaders } from "./headers.ts";
import { json } from "./json.ts";
import { createLive } from "./live.ts";
import { type ApiRoute, routes } from "./routes.ts";
import { isSameSite } from "./same-site.ts";
import { createSessions } from "./sessions.ts";
import { shared } from "./shared.ts";
import { seesAll, type Viewer } from "./viewer.ts";
import { visibleReads } from "./visible/visible-reads.ts";

export interface DashboardOptions {
  readonly reads: MeshReads;
  /** Of the built page. */
  readonly folder: string;
  /** Proves links and bearers of those who see all; kept where a page is to outlive a restart. Absent: there are none. */
  readonly secret?: Uint8Array;
  /** Names by which the page may be asked for, beside those of the machine itself. */
  readonly hosts?: readonly string[];
  /** Who another bearer is; undefined where it is nobody's. Throws where that cannot be known now. */
  readonly viewerOf?: (bearer: string) => Promise<Viewer | undefined>;
  /**
   * Applies what somebody writes, with credentials of their own: their bearer's, or undefined for who holds the secret.
   * Absent: the page is for reading.
   */
  readonly edit?: (question: ApplyQuestion, bearer: string | undefined) => Promise<ApplyAnswer>;
  readonly nowMs: () => number;
  /** Told of each request that was refused, with why in a word. */
  readonly onRefused?: (why: "site" | "token" | "streams" | "slow" | "missing") => void;
}

export function createDashboard(options: DashboardOptions): HttpHandler {
  const assets = loadAssets(options.folder);
  const sessions = options.secret && createSessions({ ...options, secret: options.secret });
  const live = createLive(options.reads.moves, () => options.onRefused?.("slow"));

  async function answer(request: HttpRequest): Promise<HttpAnswer> {
    const { url, method, headers } = request;
    if (!isSameSite(headers, options.hosts)) {
      options.onRefused?.("site");
      return plain(403, "this page is asked for by the name of this machine: localhost or its address\n");
    }
    if (!url.pathname.startsWith("/api/")) return method === "GET" || method === "HEAD" ? page(url) : notAllowed;
    if (url.pathname === "/api/session") return method === "POST" ? await signIn(request) : notAllowed;
    const bearer = /^Bearer ([\x21-\x7e]{1,16384})$/.exec(headers.authorization ?? "")?.[1];
    const viewer = await viewerOf(bearer);
    if (!viewer) {
      options.onRefused?.("token");
      return notSignedIn;
    }
    const { edit } = options;
    const own = viewer === seesAll ? undefined : bearer;
    const edited = await answerEdit(request, edit && ((question) => edit(question, own)));
    if (edited) return edited;
    const route = routeOf(url);
    if (method !== (route?.hasBody ? "POST" : "GET")) return notAllowed;
    if (url.pathname === "/api/live") return follow(viewer);
    if (!route?.isOwn) return await sharedAnswers(url, viewer);
    return await answered(url, viewer, route.hasBody ? await request.body() : "", request.signal);
  }

  async function viewerOf(bearer: string | undefined): Promise<Viewer | undefined> {
    if (bearer === undefined) return undefined;
    return sessions?.isBearer(bearer) ? seesAll : await options.viewerOf?.(bearer);
  }

  const routeOf = (url: URL): ApiRoute | undefined => routes.get(url.pathname.slice("/api/".length));

  async function answered(url: URL, viewer: Viewer, body = "", signal?: AbortSignal): Promise<HttpAnswer> {
    const found = await routeOf(url)?.answer(visibleReads(options.reads, viewer), url.searchParams, body, signal);
    if (found !== undefined) return json(200, found);
    options.onRefused?.("missing");
    return json(404, { error: "there is no such thing" });
  }

  const sharedAnswers = shared<Viewer>(options.reads.moves, answered);

  function page(url: URL): HttpAnswer {
    const asset = assets(url.pathname);
    return asset ? { status: 200, ...asset } : plain(404, "404 page not found\n");
  }

  async function signIn(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await exchange(request, sessions);
    if (answer.status !== 200) options.onRefused?.("token");
    return answer;
  }

  function follow({ key }: Viewer): HttpAnswer {
    if (live.admits(key)) return { status: 200, type: "text/event-stream", body: (stream) => live.follow(stream, key) };
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
const notAllowed = plain(405, "405 method not allowed\n");
