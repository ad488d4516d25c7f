/** Namespaces, and all that is in one. */
import type { Awaitable } from "./awaitable.ts";
import type { Effect } from "./effects.ts";
import type { GraphEdge, Looked, Seen } from "./graph.ts";
import type { ObjectRow } from "./objects.ts";
import type { ProxyRow } from "./proxies.ts";
import type { ServiceRow } from "./services.ts";

export interface NamespaceReads {
  /** Names of all that there are. */
  namespaces(): Awaitable<readonly string[]>;
  namespaceRows(): Awaitable<readonly NamespaceRow[]>;
  namespace(name: string, looked: Looked): Awaitable<NamespaceDetail | undefined>;
}

export interface NamespaceRow {
  readonly name: string;
  readonly services: number;
  readonly proxies: number;
  readonly objects: number;
  readonly problems: number;
  /** As for a workload that nothing selects. */
  readonly mutualTls: string;
}

export interface NamespaceDetail extends NamespaceRow, Seen {
  /** What holds for all of it. */
  readonly policies: readonly Effect[];
  readonly calls: readonly GraphEdge[];
  readonly serviceList: readonly ServiceRow[];
  readonly proxyList: readonly ProxyRow[];
  readonly objectList: readonly ObjectRow[];
}
