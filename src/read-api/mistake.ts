/** What is told where a question has no answer. */

/** A question that cannot be answered, with what to do about it. */
export interface Mistake {
  /** One of the names of failures, such as `not-found`. */
  readonly code: string;
  readonly error: string;
  readonly remedy?: string;
  /** Seen before anything of the mesh was looked up: it tells nothing of it. */
  readonly isOfQuestion?: boolean;
}
