/** What policies do to requests, and which object says so. */

/** Something that holds for a workload or a host, and where it comes from. */
export interface Effect {
  /** `mutual TLS`, `authorization`, … */
  readonly about: string;
  readonly says: string;
  /** Absent where nobody said so, or it may not be seen. */
  readonly object?: string;
  readonly field?: string;
}

/** Something that a policy does, or has done, to requests. */
export interface Mark {
  readonly what: MarkKind;
  readonly says: string;
  /** Absent where it was seen in what requests became. */
  readonly object?: string;
  readonly field?: string;
}

export type MarkKind =
  | "authorization"
  | "authentication"
  | "mutual TLS"
  | "patch"
  | "extension"
  | "fault"
  | "mirror"
  | "timeout"
  | "retries"
  | "rewrite"
  | "circuit breaker";
