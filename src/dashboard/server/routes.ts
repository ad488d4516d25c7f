/** The read API as paths: what is asked in, data out. Whoever has signed in is told what they may see (`visible/`). */
import type { Change, ChangeRow, MeshReads } from "../../read-api/index.ts";
import { listed } from "./listed.ts";
import { lookInTurns } from "./look-in-turns.ts";
import { parseDiffQuestion } from "./read-diff-question.ts";
import { parseWhyQuestion } from "./read-why-question.ts";

export interface ApiRoute {
  /** Everybody is told something else: who asks twice is answered twice. */
  readonly isOwn?: boolean;
  /** What is asked is in the body of a POST: it is long, or nobody else's business. */
  readonly hasBody?: boolean;
  /** Undefined: there is no such thing. */
  answer(reads: MeshReads, query: URLSearchParams, body: string, signal?: AbortSignal): unknown;
}

const [usualMs, longestMs] = [60_000, 3_600_000];

/** In seconds; a minute where it is none. */
function lastMs(query: URLSearchParams): number {
  const asked = Number(query.get("last")) * 1000;
  return asked > 0 ? Math.min(asked, longestMs) : usualMs;
}

const text = (query: URLSearchParams, name: string): string => query.get(name) ?? "";
const open = (answer: ApiRoute["answer"]): ApiRoute => ({ answer });
const told = (answer: (reads: MeshReads, body: string, signal?: AbortSignal) => unknown): ApiRoute => ({
  ...{ isOwn: true, hasBody: true },
  answer: (reads, _query, body, signal) => answer(reads, body, signal),
});

export const routes: ReadonlyMap<string, ApiRoute> = new Map<string, ApiRoute>([
  ["overview", open((reads) => reads.overview())],
  [
    "proxies",
    open(async (reads, query) =>
      listed(await reads.proxies(), query, (row) => `${row.id} ${row.kind} ${row.version} ${row.state}`),
    ),
  ],
  ["proxy", open((reads, query) => reads.proxy(text(query, "id")))],
  [
    "resources",
    open(async (reads, query) => {
      const [proxy, type] = [text(query, "proxy"), text(query, "type")];
      const names = await reads.resources(proxy, type);
      if (!names) return undefined;
      const list = listed(names, query, (name) => name);
      const causes = await reads.causes(proxy, type, list.rows);
      return { ...list, rows: list.rows.map((name, i) => ({ name, causes: causes[i] ?? [] })) };
    }),
  ],
  ["resource", open((reads, query) => reads.resource(text(query, "proxy"), text(query, "type"), text(query, "name")))],
  ["search", open((reads, query) => reads.search(text(query, "proxy"), text(query, "q")))],
  ["graph", open((reads, query) => reads.graph({ namespace: text(query, "namespace"), lastMs: lastMs(query) }))],
  ["requests", { isOwn: true, answer: (reads, query) => reads.liveRequests(query) }],
  ["why", told((reads, body) => reads.why(parseWhyQuestion(body)))],
  ["diff", told((reads, body, signal) => reads.diff(parseDiffQuestion(body), signal))],
  ["workload", open((reads, query) => reads.workload(text(query, "id"), { lastMs: lastMs(query) }))],
  ["services", open(async (reads, query) => listed(await reads.services(), query, (row) => `${row.host} ${row.id}`))],
  ["service", open((reads, query) => reads.service(text(query, "id"), { lastMs: lastMs(query) }))],
  ["namespaces", open(async (reads, query) => listed(await reads.namespaceRows(), query, (row) => row.name))],
  ["namespace", open((reads, query) => reads.namespace(text(query, "id"), { lastMs: lastMs(query) }))],
  ["objects", open(async (reads, query) => listed(await reads.objects(), query, (row) => row.id))],
  ["object", open((reads, query) => reads.object(text(query, "id")))],
  [
    "changes",
    open(async (reads, query) => {
      const list = listed(
        await reads.changes(),
        query,
        (row) => `${row.object} ${row.act} ${row.author?.manager ?? ""}`,
      );
      await lookInTurns(list.rows);
      return { ...list, rows: list.rows.map(changeRow) };
    }),
  ],
  ["change", open((reads, query) => reads.change(Number(text(query, "id"))))],
  ["identities", open((reads) => reads.identities())],
]);

/** Of a difference, a list tells how many lines it has. */
function changeRow({ diff, touched: _, untold: _untold, ...change }: Change): ChangeRow {
  const count = (mark: string): number => diff.filter((line) => line.startsWith(mark)).length;
  return { ...change, more: count("+"), less: count("-") };
}
