/** An object's managedFields in; who wrote it last, statuses aside, out. Of all the rest of them nothing is kept. */
import { dropOldest, isRecord, readList, readText } from "../lib/index.ts";
import type { Writer } from "../model/index.ts";

/** Few programs write all objects, so that an object costs a reference. */
const known = new Map<string, Writer>();
const maxKnown = 1_000;
/** As Kubernetes allows. */
const maxManagerChars = 128;

export function writerOf(managedFields: unknown): Writer | undefined {
  let last: { readonly time: string; readonly manager: string; readonly operation: string } | undefined;
  for (const entry of readList(managedFields)) {
    if (!isRecord(entry) || readText(entry.subresource) !== "") continue;
    const time = readText(entry.time);
    // Times have seconds; of two in one the later entry is the newer.
    if (!last || time >= last.time)
      last = { time, manager: readText(entry.manager), operation: readText(entry.operation) };
  }
  if (!last || last.manager === "") return undefined;
  const [manager, operation] = [last.manager.slice(0, maxManagerChars), last.operation.slice(0, maxManagerChars)];
  const key = `${operation} ${manager}`;
  const writer = known.get(key) ?? { manager, operation };
  known.set(key, writer);
  dropOldest(known, maxKnown);
  return writer;
}
