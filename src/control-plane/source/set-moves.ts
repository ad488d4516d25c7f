/** What a class was given before and is given now in; who wants to know is told of each set that is another one. */
import { envoyTypes, type ResourceSet, type ResourceType } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";
import { madeSet } from "./made-set.ts";

/** Told, while it wants to be, when a class of proxies, or one that goes to another class, is given another set. */
export interface MoveListener {
  wants(): boolean;
  moved(move: SetMove): void;
}

export interface SetMove {
  /** The same for all moves of the same proxies. */
  readonly who: object;
  readonly proxies: number;
  readonly type: ResourceType;
  readonly before: ResourceSet;
  readonly now: ResourceSet;
  /** Of the graph, when the set was made. */
  readonly version: number;
}

export interface SetMoves {
  follow(listener: MoveListener): void;
  /** What is given now; the function it returns tells what is given then. */
  watch(from: Renderer): (to: Renderer, who: object, proxies: number) => void;
}

export function createSetMoves(version: () => number): SetMoves {
  const listeners = new Set<MoveListener>();
  return {
    follow: (listener) => void listeners.add(listener),
    watch(from) {
      const wanting = [...listeners].filter((listener) => listener.wants());
      if (wanting.length === 0) return noMove;
      const sets = envoyTypes.map((type) => [type, madeSet(from, type)] as const);
      return (to, who, proxies) => {
        for (const [type, before] of sets) {
          const now = before && madeSet(to, type);
          if (!now || now === before) continue;
          for (const { moved } of wanting) moved({ who, proxies, type, before, now, version: version() });
        }
      };
    },
  };
}

const noMove = (): void => {};
