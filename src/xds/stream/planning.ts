/** What a plan is, and what it is made from. */
import type { Resource, ResourceType } from "../../model/index.ts";
import type { ProxySession } from "../source.ts";
import type { HoldBack } from "./hold-back.ts";
import type { Changes, Steps } from "./steps.ts";

export interface Plan {
  readonly resources: readonly Resource[];
  readonly removed: readonly string[];
  readonly changes: Changes;
  /** The same names as the client was last sent them. */
  readonly before: Changes;
  /** It has all resources, also those that do not change. */
  readonly whole: boolean;
}

export interface Planning {
  readonly variant: "sotw" | "delta";
  readonly session: ProxySession;
  readonly holdBack: HoldBack;
  readonly steps: Steps;
  /** Begins to look names up; says of each whether it is left to the next response of the type. */
  readonly look: () => () => boolean;
  /** Something of the type was left. */
  readonly goOn: (type: ResourceType) => void;
}
