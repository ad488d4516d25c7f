/** Objects of users, as they are written, and what became of them. */
import type { Awaitable } from "./awaitable.ts";
import type { Change } from "./changes.ts";
import type { Finding } from "./overview.ts";

export interface ObjectReads {
  objects(): Awaitable<readonly ObjectRow[]>;
  object(id: string): Awaitable<ObjectDetail | undefined>;
}

export interface ObjectRow {
  /** `Kind/namespace/name`. */
  readonly id: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation?: number;
  readonly problems: number;
}

export interface ObjectDetail extends ObjectRow {
  /** As it is written; a comment where it is too long to be shown. */
  readonly yaml: string;
  /** As YAML; absent where it has none. */
  readonly status?: string;
  readonly resourceVersion?: string;
  readonly findings: readonly Finding[];
  /** Which proxies have it; absent where its kind reaches none. */
  readonly programmed?: {
    readonly isDone: boolean;
    readonly message: string;
    readonly affected: number;
    readonly acknowledged: number;
    readonly refusing: readonly { readonly proxy: string; readonly part: string; readonly words: string }[];
    readonly waiting: readonly string[];
  };
  /** What of proxies was made from it. */
  readonly parts: readonly { readonly type: string; readonly name: string; readonly proxies: number }[];
  readonly changes: readonly Change[];
}
