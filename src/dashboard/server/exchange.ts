/** The token of a link in; a bearer for it, or the word that it is none, out. */
import { parseJson, readRecord, readText } from "../../lib/index.ts";
import type { HttpAnswer, HttpRequest } from "../../ops/index.ts";
import { json } from "./json.ts";
import type { Sessions } from "./sessions.ts";

const maxTokenBytes = 1000;

export async function exchange(request: HttpRequest, sessions: Sessions | undefined): Promise<HttpAnswer> {
  const body = await request.body();
  const token = body.length > maxTokenBytes ? "" : readText(readRecord(parseJson(body)).token);
  const bearer = sessions?.exchange(token);
  if (bearer !== undefined) return json(200, { bearer });
  return json(401, {
    error: "this link has been used or is too old",
    remedy: "run `fairlead dashboard` for a new one",
  });
}

export const notSignedIn: HttpAnswer = json(401, {
  error: "this page is not signed in",
  remedy: "run `fairlead dashboard` for a new link",
});
