/** A request to change something, and who does so where that is allowed, in; what became of it out. */
import { FairleadError, isRecord, parseJson } from "../../lib/index.ts";
import type { HttpAnswer, HttpRequest } from "../../ops/index.ts";
import type { Abilities, ApplyAnswer, ApplyQuestion } from "../apply-write.ts";
import { json } from "./json.ts";

export type Apply = (question: ApplyQuestion) => Promise<ApplyAnswer>;

const maxTextBytes = 1024 * 1024;
const limits = { maxBytes: 2 * maxTextBytes, maxDepth: 3, maxValues: 10 };

/** Undefined where the request is about something else. Without `apply` the page is for reading. */
export async function answerEdit(request: HttpRequest, apply: Apply | undefined): Promise<HttpAnswer | undefined> {
  const { url, method } = request;
  if (url.pathname === "/api/abilities" && method === "GET")
    return json(200, { edit: apply !== undefined } satisfies Abilities);
  if (url.pathname !== "/api/apply" || method !== "POST") return undefined;
  if (!apply)
    throw new FairleadError("forbidden", "this page is for reading", {
      hint: "kubectl apply, or allow it with --dashboard-edit",
    });
  return json(200, await apply(parseApplyQuestion(await request.body())));
}

function parseApplyQuestion(body: string): ApplyQuestion {
  const value = parseJson(body, limits);
  const { objects, force, resourceVersion, ...others } = isRecord(value) ? value : {};
  if (typeof objects !== "string" || Object.keys(others).length > 0)
    throw new FairleadError("invalid", "a change is an object with `objects`, and perhaps `force`, `resourceVersion`");
  if (Buffer.byteLength(objects) > maxTextBytes)
    throw new FairleadError("too-large", "more than 1 MB is not applied from here", { hint: "use kubectl apply" });
  return {
    objects,
    ...(force === true ? { force } : {}),
    ...(typeof resourceVersion === "string" && resourceVersion !== "" ? { resourceVersion } : {}),
  };
}
