/** The read API as paths: what is asked in, data out. Every path says who may ask; one that says nothing cannot be written. */
import type { MeshReads } from "../mesh-reads.ts";
import { listed } from "./listed.ts";
import { lookInTurns } from "./look-in-turns.ts";

/** `everybody` is who has a bearer; nothing of the mesh is told to anybody else. */
export type Who = "everybody";

export interface ApiRoute {
  readonly who: Who;
  /** Everybody is told something else: who asks twice is answered twice. */
  readonly isOwn?: boolean;
  /** Undefined: there is no such thing. */
  answer(query: URLSearchParams): unknown;
}

const [usualMs, longestMs] = [60_000, 3_600_000];

/** In seconds; a minute where it is none. */
function lastMs(query: URLSearchParams): number {
  const asked = Number(query.get("last")) * 1000;
  return asked > 0 ? Math.min(asked, longestMs) : usualMs;
}

export function createRoutes(reads: MeshReads): ReadonlyMap<string, ApiRoute> {
  const text = (query: URLSearchParams, name: string): string => query.get(name) ?? "";
  const open = (answer: ApiRoute["answer"]): ApiRoute => ({ who: "everybody", answer });
  return new Map([
    ["overview", open(() => reads.overview())],
    [
      "proxies",
      open((query) => listed(reads.proxies(), query, (row) => `${row.id} ${row.kind} ${row.version} ${row.state}`)),
    ],
    ["proxy", open((query) => reads.proxy(text(query, "id")))],
    [
      "resources",
      open((query) => {
        const [proxy, type] = [text(query, "proxy"), text(query, "type")];
        const names = reads.resources(proxy, type);
        if (!names) return undefined;
        const list = listed(names, query, (name) => name);
        const causes = reads.causes(proxy, type, list.rows);
        return { ...list, rows: list.rows.map((name, i) => ({ name, causes: causes[i] ?? [] })) };
      }),
    ],
    ["resource", open((query) => reads.resource(text(query, "proxy"), text(query, "type"), text(query, "name")))],
    ["graph", open((query) => reads.graph({ namespace: text(query, "namespace"), lastMs: lastMs(query) }))],
    ["requests", { who: "everybody", isOwn: true, answer: (query) => reads.liveRequests(query) }],
    ["workload", open((query) => reads.workload(text(query, "id"), lastMs(query)))],
    ["services", open((query) => listed(reads.services(), query, (row) => `${row.host} ${row.id}`))],
    ["service", open((query) => reads.service(text(query, "id")))],
    ["objects", open(async (query) => listed(await reads.objects(), query, (row) => row.id))],
    ["object", open((query) => reads.object(text(query, "id")))],
    [
      "changes",
      open(async (query) => {
        const list = listed(reads.changes(), query, (row) => `${row.object} ${row.act}`);
        await lookInTurns(list.rows);
        return list;
      }),
    ],
    ["identities", open(() => reads.identities())],
  ]);
}
