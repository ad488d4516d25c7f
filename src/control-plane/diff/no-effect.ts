/** A change of several objects in; those of them without which proxies would be sent the same out. */
import type { KubeObject } from "../../model/index.ts";
import type { DiffTold as Told } from "../../read-api/index.ts";
import type { completed, Numbers } from "./completed.ts";
import { nameOf, type Proposal } from "./proposal.ts";
import { compareStates, type ProxyChoice, type State, type States, type Subject } from "./states.ts";

/** More objects than these are not tried one by one. */
const maxTried = 30;

interface Tried {
  readonly states: States;
  readonly base: readonly KubeObject[];
  readonly proposal: Proposal;
  readonly numbers: Numbers;
  readonly complete: typeof completed;
  /** After the whole change. */
  readonly now: State;
  readonly choice: ProxyChoice;
  subjects(): readonly Subject[];
  /** The whole change has no effect. */
  readonly isQuiet: boolean;
}

/** Each is taken back by itself, which costs no more than what it changed. */
export function withoutEffect({
  states,
  base,
  proposal,
  numbers,
  complete,
  now,
  choice,
  isQuiet,
  subjects,
}: Tried): readonly Told[] {
  const { touched, after } = proposal;
  const told = (object: string): Told => ({ object, message: "no proxy would be sent anything else because of it" });
  if (isQuiet) return touched.map(told);
  if (touched.length < 2 || touched.length > maxTried) return [];
  const before = new Map(base.map((object) => [nameOf(object), object]));
  return touched
    .filter((name) => {
      const old = before.get(name);
      const others = after.filter((object) => nameOf(object) !== name);
      states.moveTo(complete(old ? [...others, old] : others, numbers).objects);
      const { groups, added, removed } = compareStates(now, states.take(choice, subjects()));
      return groups.length + added.length + removed.length === 0;
    })
    .map(told);
}
