/** YAML text in; for each of its documents the line that every field stands on, counted from 1, out. */
import { EVENT_ID, type Event, getScalarValue } from "js-yaml";
import { FairleadError } from "./error.ts";
import { createLineCounter } from "./line-counter.ts";
import { fileLimits, type ParseLimits } from "./parse.ts";
import { type YamlEvents, yamlEvents } from "./yaml-events.ts";

/** Lines by path, such as `spec.http[0].timeout`; the whole document is the empty path. */
export type YamlLines = ReadonlyMap<string, number>;

/** Empty documents have no lines and are left out, as `parseYaml` leaves them out. Text that is not YAML throws `invalid`. */
export function yamlLines(given: string, limits: ParseLimits = fileLimits): readonly YamlLines[] {
  const { text, events } = readEvents(given, limits);
  const lineAt = createLineCounter(text);
  const documents: Map<string, number>[] = [];
  /** What is open: a list with its next index, or a mapping with the key that waits for its value. */
  const open: { readonly path: string; index: number; key: string | undefined; readonly isList: boolean }[] = [];

  const place = (offset: number): string | undefined => {
    const parent = open.at(-1);
    const lines = documents.at(-1);
    if (!lines) return undefined;
    const path = !parent
      ? ""
      : parent.isList
        ? `${parent.path}[${parent.index++}]`
        : join(parent.path, parent.key ?? "");
    if (parent) parent.key = undefined;
    lines.set(path, lineAt(offset));
    return path;
  };
  const scalar = (event: Extract<Event, { type: typeof EVENT_ID.SCALAR }>): void => {
    const parent = open.at(-1);
    if (parent && !parent.isList && parent.key === undefined) parent.key = getScalarValue(text, event);
    else if (parent || !isNothing(getScalarValue(text, event))) place(event.valueStart);
  };
  for (const event of events) {
    if (event.type === EVENT_ID.DOCUMENT) documents.push(new Map());
    else if (event.type === EVENT_ID.SCALAR) scalar(event);
    else if (event.type === EVENT_ID.ALIAS) place(event.anchorStart);
    else if (event.type === EVENT_ID.POP) open.pop();
    else {
      const path = place(event.start) ?? "";
      open.push({ path, index: 0, key: undefined, isList: event.type === EVENT_ID.SEQUENCE });
    }
  }
  return documents.filter((lines) => lines.size > 0);
}

function readEvents(text: string, limits: ParseLimits): YamlEvents {
  try {
    return yamlEvents(text, limits.maxDepth);
  } catch (error) {
    const why = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "cannot be read";
    throw new FairleadError("invalid", `not YAML: ${why}`, { cause: error });
  }
}

const isNothing = (text: string): boolean => ["", "~", "null", "Null", "NULL"].includes(text);

const join = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`);
