/** The one function that decides who may read which debug path. */
import { isLoopback } from "../lib/index.ts";
import type { Identity } from "../model/index.ts";

export interface DebugCaller {
  /** Address of the caller; loopback is a port-forward, which the API has already authorised. */
  readonly remoteAddress: string;
  readonly identity: Identity | undefined;
}

export interface DebugQuestion {
  /** Path after `/debug/`. */
  readonly path: string;
  /** Namespace of the proxy that is asked about, where one is. */
  readonly proxyNamespace: string | undefined;
}

/** What a workload outside the system namespace may read, of proxies of its own namespace. */
const ownPaths: ReadonlySet<string> = new Set(["config_dump", "ndsz", "edsz", "syncz"]);

export function mayDebug(caller: DebugCaller, question: DebugQuestion, systemNamespace: string): boolean {
  if (isLoopback(caller.remoteAddress)) return true;
  if (!caller.identity) return false;
  if (caller.identity.namespace === systemNamespace) return true;
  return ownPaths.has(question.path) && question.proxyNamespace === caller.identity.namespace;
}
