/** The JSON that the control plane gave Envoy for its agent in; which metrics and tags are changed out. */
import { isRecord, parseJson, readList, readNumber, readRecord } from "../../lib/index.ts";
import type { MetricPlan } from "../../model/index.ts";

export interface Plan {
  /** As it was sent; what tells plans apart. */
  readonly text: string;
  readonly reporter: MetricPlan["reporter"];
  readonly protocol: MetricPlan["protocol"];
  readonly changes: ReadonlyMap<string, Change>;
  /** How many columns of tags a line has beyond the standard ones. */
  readonly tagColumns: number;
}

interface Change {
  readonly drop: boolean;
  readonly remove: ReadonlySet<string>;
  /** Tag -> index of the column that has its value. */
  readonly set: ReadonlyMap<string, number>;
}

/** Undefined for what is no plan. */
export function parsePlan(text: string): Plan | undefined {
  try {
    const value = parseJson(text);
    if (!isRecord(value)) return undefined;
    const { reporter, protocol } = value;
    if (reporter !== "source" && reporter !== "destination") return undefined;
    if (protocol !== "http" && protocol !== "tcp") return undefined;
    const changes = Object.entries(readRecord(value.changes)).map(
      ([metric, change]) => [metric, parseChange(readRecord(change))] as const,
    );
    const columns = changes.flatMap(([, { set }]) => [...set.values()]);
    return { text, reporter, protocol, changes: new Map(changes), tagColumns: Math.max(-1, ...columns) + 1 };
  } catch {
    return undefined;
  }
}

function parseChange({ drop, remove, set }: Readonly<Record<string, unknown>>): Change {
  const tags = Object.entries(readRecord(set)).flatMap(([tag, index]) => {
    const column = readNumber(index);
    return column === undefined ? [] : [[tag, column] as const];
  });
  return {
    drop: drop === true,
    remove: new Set(readList(remove).filter((tag) => typeof tag === "string")),
    set: new Map(tags),
  };
}
