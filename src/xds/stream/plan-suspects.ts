/** Names that a refusal may be about in; a response on these alone out. */
import type { Resource } from "../../model/index.ts";
import type { Plan } from "./planning.ts";
import type { TypeState } from "./type-state.ts";

type Named = [string, Resource | undefined];

export function planSuspects(state: TypeState, names: readonly string[]): Plan {
  // Others that must be sent come after it.
  state.sentAgain(names);
  return {
    resources: names.flatMap((name) => state.sent(name) ?? []),
    removed: names.filter((name) => !state.sent(name)),
    changes: new Map(names.map((name): Named => [name, state.sent(name)])),
    before: new Map(names.map((name): Named => [name, state.accepted(name)])),
    whole: false,
  };
}
