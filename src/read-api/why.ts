/** The shapes of a question about one request and of its answer: what commands and the page ask, and are told. */
import type { Mistake } from "./mistake.ts";

export interface WhyReads {
  /** What becomes of a request, by the configuration that the proxies have been sent; nothing is sent. */
  why(question: WhyQuestion): Promise<WhyAnswer | Mistake>;
}

/** One request, in the words of whoever asks; `log` stands instead of source and destination. */
export interface WhyQuestion {
  /** `POD[.NAMESPACE]`, a Service, an app label, a gateway, or `outside`. */
  readonly source?: string;
  /** `[http|https|grpc|tcp|tls://]HOST[:PORT][/PATH]` */
  readonly destination?: string;
  /** Of the source where its name has none; absent: default. */
  readonly namespace?: string;
  readonly method?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string;
  /** The server name of TLS, where it is not the host. */
  readonly sni?: string;
  /** Address that a request from outside comes from. */
  readonly from?: string;
  /** A line of an access log, Istio's text or JSON. */
  readonly log?: string;
}

/** An object, and its field, that decided something. */
export interface Decider {
  /** `VirtualService/shop/web`. */
  readonly object: string;
  readonly field?: string;
  readonly file?: string;
  readonly line?: number;
  readonly resourceVersion?: string;
}

/** What the caller gets. */
export interface WhyOutcome {
  readonly kind: "reached" | "answered" | "closed";
  /** Of what was reached. */
  readonly endpoint?: string;
  readonly status?: number;
  readonly grpcStatus?: number;
  readonly flags?: readonly string[];
  readonly details?: string;
  readonly location?: string;
  /** The whole in a line. */
  readonly text: string;
}

export interface WhyStep {
  /** `pod.namespace` */
  readonly proxy: string;
  readonly stage: string;
  readonly decision: string;
  /** What was looked at and not taken, with the reason. */
  readonly lost: readonly string[];
  /** From 0 to 1, where the decision is random. */
  readonly odds?: number;
  readonly resource?: { readonly type: string; readonly name: string };
  readonly deciders: readonly Decider[];
}

/** One proxy's share, as its access log would have it. */
export interface WhyHop {
  readonly proxy: string;
  readonly listener: string;
  readonly filterChain: string;
  readonly virtualHost: string;
  readonly route: string;
  readonly cluster: string;
  readonly endpoint: string;
  readonly peer: string;
  readonly status: number;
  readonly flags: readonly string[];
  readonly details: string;
}

/** Programs read it: `fairlead why -o json` prints this. */
export interface WhyAnswer {
  /** The request in a line. */
  readonly request: string;
  /** What a line of an access log said, in words. */
  readonly logged?: string;
  readonly verdict: WhyOutcome & { readonly deciders: readonly Decider[] };
  /** Everything that may become of it, the verdict first. */
  readonly odds: readonly (WhyOutcome & { readonly odds: number })[];
  /** Ways that were not followed, by their odds. */
  readonly unfollowed: number;
  readonly hops: readonly WhyHop[];
  /** The last is the one that decided. */
  readonly steps: readonly WhyStep[];
  readonly assumptions: readonly string[];
}
