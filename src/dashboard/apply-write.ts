/** The shapes of a change that is applied from the page, and of what became of it. */

export interface ApplyQuestion {
  /** YAML of objects of Istio's and the Gateway API's kinds. */
  readonly objects: string;
  /** Takes over fields that others have set. */
  readonly force?: boolean;
  /** Of the one object, as it was when it was opened: what somebody else has written meanwhile is not overwritten. */
  readonly resourceVersion?: string;
}

/** None is applied where the API refuses one beforehand; what it refuses, or leaves unanswered, later is told beside the rest. */
export interface ApplyAnswer {
  readonly applied: readonly AppliedObject[];
  readonly refused: readonly ApplyRefusal[];
}

export interface AppliedObject {
  /** `Kind/namespace/name`. */
  readonly object: string;
  readonly generation?: number;
}

export interface ApplyRefusal {
  readonly object: string;
  readonly message: string;
  readonly remedy: string;
  /** Others have set the same fields: it can be applied by force. */
  readonly isOwned?: boolean;
}

/** What whoever looks may do. */
export interface Abilities {
  readonly edit: boolean;
}
