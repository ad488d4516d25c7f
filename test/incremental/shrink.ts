/** A life that ends in a difference in; a shorter one that does too, as far as the time allows, out. */
import type { Life, Step } from "./life.ts";
import { type Difference, play } from "./play.ts";

export interface Shrunk {
  readonly life: readonly Step[];
  readonly difference: Difference;
}

export async function shrink({ steps, settings }: Life, difference: Difference, budgetMs: number): Promise<Shrunk> {
  const until = performance.now() + budgetMs;
  let best: Shrunk = { life: steps.slice(0, difference.step + 1), difference };
  const attempt = async (shorter: readonly Step[]): Promise<boolean> => {
    const found = await play({ steps: shorter, settings }, "end");
    if (found) best = { life: shorter, difference: found };
    return found !== undefined;
  };
  await attempt(onlyProxy(best.life, difference.proxy));
  await attempt(best.life.flatMap((step, index) => (index === 0 ? single(step) : [step])));
  await attempt(best.life.flatMap(single));
  for (let size = Math.ceil(best.life.length / 2); ; size = Math.ceil(size / 2)) {
    // From the end, because what comes late is least needed by the rest.
    for (let at = best.life.length - size; at > -size; at -= size) {
      if (performance.now() > until) return best;
      const from = Math.max(0, at);
      await attempt([...best.life.slice(0, from), ...best.life.slice(at + size)]);
    }
    if (size === 1) return best;
  }
}

function onlyProxy(life: readonly Step[], name: string): readonly Step[] {
  if (name === "") return life;
  return life.filter(
    (step) => step.does === "change" || (step.does === "connect" ? step.proxy.name === name : step.name === name),
  );
}

/** One object at a time, so that each can be left out. */
function single(step: Step): readonly Step[] {
  if (step.does !== "change") return [step];
  return [
    ...step.remove.map((object): Step => ({ ...step, apply: [], remove: [object] })),
    ...step.apply.map((object): Step => ({ ...step, apply: [object], remove: [] })),
  ];
}
