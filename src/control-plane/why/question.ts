/** A question as commands and the page ask it in; what is resolved in a mesh out. Mistakes in it are thrown. */
import type { Headers } from "../../explain/index.ts";
import { FairleadError } from "../../lib/index.ts";
import type { WhyQuestion } from "../../read-api/index.ts";
import { parseDestination } from "./destination-text.ts";
import type { ExplainedMesh } from "./explained-mesh.ts";
import { type LoggedQuestion, readLogLine, resolveLog } from "./log-question.ts";
import { type Asked, resolveQuestion } from "./resolve.ts";

export type Ask = (explained: ExplainedMesh) => Asked | LoggedQuestion;

/** Told before anything is looked up. */
export function askOf(question: WhyQuestion): Ask {
  const { source, destination, namespace = "default", method, sni, from, log } = question;
  const headers = headersOf(question);
  if (log !== undefined) {
    if (source !== undefined || destination !== undefined)
      throw new FairleadError("usage", "a line of a log says who called whom; leave out SRC and DST", {
        hint: "quote the line as one argument",
      });
    const entry = readLogLine(log);
    return (explained) => resolveLog(entry, headers, explained);
  }
  if (source === undefined || destination === undefined)
    throw new FairleadError("usage", "name who calls and whom: fairlead why SRC DST", {
      hint: "`fairlead why --help` has examples",
    });
  const parsed = { source, destination: parseDestination(destination), namespace, method, headers, sni, from };
  return (explained) => resolveQuestion(parsed, explained);
}

function headersOf({ headers = [], token }: WhyQuestion): Headers {
  const named = headers.map(([name, value]) => [headerName(name), value.trim()] as const);
  if (token === undefined) return named;
  const text = token.trim().replace(/^Bearer /i, "");
  if (!/^[\w.=+/-]*$/.test(text))
    throw new FairleadError("invalid", "this is no token", {
      hint: "a token is three parts in base64 with dots between them",
    });
  return [...named, ["authorization", `Bearer ${text}`]];
}

function headerName(text: string): string {
  const name = text.trim().toLowerCase();
  if (/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) return name;
  throw new FairleadError("usage", `${JSON.stringify(text.slice(0, 64))} is no header`, {
    hint: "write it as -H 'name: value'",
  });
}
