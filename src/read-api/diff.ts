/** The shapes of a change that is only thought of and of what it would do: what commands and the page ask, and are told. */
import type { Mistake } from "./mistake.ts";

export interface DiffReads {
  /** What a change would do to the proxies; nothing is written. */
  diff(question: DiffQuestion, signal?: AbortSignal): Promise<DiffAnswer | Mistake>;
}

export interface DiffQuestion {
  /** YAML or JSON of objects that would be applied. */
  readonly objects?: string;
  /** What would be deleted, as `Kind/namespace/name`. */
  readonly deleted?: readonly string[];
  /** Of objects that name none; absent: default. */
  readonly namespace?: string;
  /** Only for these (`pod.namespace`); absent: for all. */
  readonly proxies?: readonly string[];
  /** Whether the fields of Envoy's resources are told too. */
  readonly resources?: boolean;
  /** Whether analysers are asked too, as `fairlead analyze` asks them. */
  readonly analyze?: boolean;
}

export interface DiffAnswer {
  /** In words, the dangerous ones first. */
  readonly sentences: readonly DiffSentence[];
  /** Proxies for which the same resources change in the same way. */
  readonly classes: readonly DiffClass[];
  /** All proxies that were looked at. */
  readonly proxies: number;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Why the API or the webhook would not take an object. */
  readonly refused: readonly DiffTold[];
  /** Objects that would have no say. */
  readonly ignored: readonly DiffTold[];
  readonly warnings: readonly DiffTold[];
  /** What was taken for granted. */
  readonly notes: readonly string[];
  readonly resources: readonly DiffResource[];
  /** Where it was asked for. */
  readonly analysis?: DiffAnalysis;
}

/** Whom it is for; of very many, some by name. */
export interface DiffProxies {
  readonly count: number;
  readonly proxies: readonly string[];
}

export interface DiffSentence extends DiffProxies {
  /** Short where no other host has that short name. */
  readonly subject: string;
  readonly host: string;
  readonly text: string;
  readonly risk?: "deny" | "lost-endpoint" | "mtls";
}

export interface DiffClass extends DiffProxies {
  readonly resources: readonly {
    readonly type: string;
    readonly name: string;
    readonly change: "new" | "gone" | "changed";
    /** Of a route configuration: the virtual hosts that differ, as `route/host`. */
    readonly hosts?: readonly string[];
  }[];
}

/** An object and what is to be said of it. */
export interface DiffTold {
  /** `Kind/namespace/name`. */
  readonly object: string;
  readonly field?: string;
  readonly message: string;
}

/** What analysers say because of the change, the worst first; of very many, some. */
export interface DiffAnalysis {
  readonly count: number;
  readonly messages: readonly DiffMessage[];
}

export interface DiffMessage extends DiffTold {
  /** `IST0101`. */
  readonly code: string;
  readonly level: "error" | "warning" | "info";
}

export interface DiffResource {
  readonly type: string;
  readonly name: string;
  /** How many have this difference. */
  readonly proxies: number;
  /** `- PATH: VALUE` and `+ PATH: VALUE`. */
  readonly lines: readonly string[];
}
