/** The events of a YAML text in, the keys that mappings of it have twice out. */
import { EVENT_ID, type Event, getScalarValue } from "js-yaml";
import { maxRepeatedKeys, type RepeatedKey } from "./json-keys.ts";
import { createLineCounter } from "./line-counter.ts";

interface Mapping {
  readonly keys: Set<string>;
  /** The one whose value comes next; of keys that are no scalars nothing is said. */
  key: string | undefined;
  isKeyNext: boolean;
}

/** Merge keys (`<<`) may come more than once. */
export function repeatedYamlKeys(text: string, events: readonly Event[]): readonly Pick<RepeatedKey, "key" | "line">[] {
  const found: { readonly key: string; readonly line: number }[] = [];
  const lineAt = createLineCounter(text);
  /** Lists and documents are undefined. */
  const open: (Mapping | undefined)[] = [];
  const begin = (start: number, asKey: string | undefined): void => {
    const mapping = open.at(-1);
    if (!mapping) return;
    const { keys, key, isKeyNext } = mapping;
    if (isKeyNext) mapping.key = asKey;
    else if (key !== undefined && key !== "<<") {
      if (keys.has(key)) found.push({ key, line: lineAt(start) });
      keys.add(key);
    }
    mapping.isKeyNext = !isKeyNext;
  };
  for (const event of events) {
    if (found.length >= maxRepeatedKeys) break;
    switch (event.type) {
      case EVENT_ID.DOCUMENT:
        open.push(undefined);
        break;
      case EVENT_ID.POP:
        open.pop();
        break;
      case EVENT_ID.SCALAR:
        begin(event.valueStart, getScalarValue(text, event));
        break;
      case EVENT_ID.ALIAS:
        begin(event.anchorStart, undefined);
        break;
      default:
        begin(event.start, undefined);
        open.push(event.type === EVENT_ID.MAPPING ? { keys: new Set(), key: undefined, isKeyNext: true } : undefined);
    }
  }
  return found;
}
