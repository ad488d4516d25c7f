/** Between whom requests go, as proxies tell it. */

/** A workload; empty where it is not known. */
export interface Party {
  readonly namespace: string;
  readonly workload: string;
  readonly app: string;
  readonly version: string;
}

/** What the caller asked for; empty where it is not known, and a cluster's name where it is no service. */
export interface CalledService {
  readonly host: string;
  readonly name: string;
  readonly namespace: string;
}

export interface EdgeName {
  readonly source: Party;
  readonly destination: Party;
  readonly service: CalledService;
  readonly protocol: "http" | "grpc" | "tcp";
}

/** Whose proxy has counted. The source's also sees what never reached the destination. */
export type Side = "source" | "destination";

/** `all`: every request was over mutual TLS; `unknown`: nobody could tell. */
export type MutualTls = "all" | "mixed" | "none" | "unknown";
