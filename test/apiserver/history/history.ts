/** What clients of one API did and saw, with the times at which they asked and were answered. */

/** A version of one key; `op` is the mark that the writer left in it, undefined for a deletion. */
export interface Version {
  readonly key: string;
  readonly version: number;
  readonly op: string | undefined;
}

interface Timed {
  readonly asked: number;
  /** Infinite where no answer came: it may have happened or not. */
  readonly answered: number;
}

export type Operation = Timed &
  (
    | {
        readonly type: "create" | "update" | "patch";
        readonly key: string;
        readonly op: string;
        /** Of an update: the version that it was to replace. */
        readonly expected?: number;
        /** Undefined: refused, or no answer. */
        readonly version: number | undefined;
      }
    | { readonly type: "delete"; readonly key: string; readonly done: boolean }
    | { readonly type: "get"; readonly key: string; readonly found: Version | undefined }
    | { readonly type: "list"; readonly version: number; readonly items: readonly Version[] }
  );

export interface SeenEvent {
  readonly at: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  /** Of a bookmark the key is empty. */
  readonly version: Version;
}

/** What one watch saw from a version on, over all its resumptions. */
export interface Segment {
  readonly start: number;
  /** The keys that were there then, by the list that it began with. */
  readonly present: readonly string[];
  readonly events: readonly SeenEvent[];
}

export interface History {
  readonly operations: readonly Operation[];
  readonly segments: readonly Segment[];
}
