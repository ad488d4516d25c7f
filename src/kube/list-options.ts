/** What of a kind is listed or watched, and from where on. */
export interface ListOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WatchOptions extends ListOptions {
  /** The watch ends when nothing, not even a bookmark, has come for so long. */
  readonly stallMs?: number;
}
