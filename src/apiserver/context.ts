/** What every handler is given: the parts of the server, and the request as far as it is understood. */
import type { Logger, Watchdog } from "../lib/index.ts";
import type { Admission } from "./admission.ts";
import type { Authorizer } from "./authorizer.ts";
import type { Definitions } from "./definitions.ts";
import type { FieldValidation, RepeatedFields } from "./field-validation.ts";
import type { KindRegistry } from "./kind-registry.ts";
import type { Pace } from "./pace.ts";
import type { ResourceRequest } from "./request.ts";
import type { Shaper } from "./shape.ts";
import type { Snapshots } from "./snapshots.ts";
import type { Store } from "./store.ts";
import type { TurnQueue } from "./turn-queue.ts";
import type { User } from "./user.ts";
import type { WatchHub } from "./watch-hub.ts";
import type { WatchLines } from "./watch-lines.ts";

export interface Parts {
  readonly store: Store;
  readonly authorizer: Authorizer;
  readonly registry: KindRegistry;
  readonly definitions: Definitions;
  readonly shaper: Shaper;
  readonly hub: WatchHub;
  readonly watchLines: WatchLines;
  readonly watchTurns: TurnQueue;
  readonly watchdog: Watchdog;
  readonly snapshots: Snapshots;
  readonly admission: Admission;
  readonly now: () => Date;
  /** The socket of whoever runs the Pod with this uid; undefined where nobody can run any. */
  readonly podSocket: (uid: string) => string | undefined;
  readonly randomText: (length: number) => string;
  readonly log: Logger;
}

export interface WriteContext extends Parts {
  readonly user: User;
  readonly request: ResourceRequest;
  readonly pace: Pace;
  /** Becomes a Warning header. */
  readonly warn: (text: string) => void;
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** Of the body. */
  readonly repeated: RepeatedFields;
}
