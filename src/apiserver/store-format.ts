/**
 * A store of an older format in; the same in today's format out. Each format that there ever was has one step that leads
 * to the next, so that any of them can be read.
 */
import { FairleadError } from "../lib/index.ts";

/** The text of each record, by its name. */
export type Records = ReadonlyMap<string, string>;

export interface FormatStep {
  /** The format that it reads; it leads to the next number. */
  readonly from: number;
  /** What is different, for the log. */
  readonly what: string;
  migrate(records: Records): Records;
}

export interface StoreFormats {
  readonly current: number;
  readonly steps: readonly FormatStep[];
}

/** Format 1 is the first. Whoever changes what a record looks like adds a step here, and a test with records of before. */
export const storeFormats: StoreFormats = { current: 1, steps: [] };

/** Throws where the store is newer, or so old that no step leads from it. */
export function migrateRecords(path: string, format: number, records: Records, formats: StoreFormats): Records {
  const { current, steps } = formats;
  if (format > current)
    throw new FairleadError(
      "storage",
      `${path} has format ${format}; this version of Fairlead reads format ${current}`,
      {
        hint: "start the newer version of Fairlead that wrote it, or choose another --data folder",
      },
    );
  let migrated = records;
  for (let at = format; at < current; at++) {
    const step = steps.find(({ from }) => from === at);
    if (!step)
      throw new FairleadError(
        "storage",
        `${path} has format ${format}, which this version of Fairlead no longer reads`,
        {
          hint: "back it up with the version of Fairlead that wrote it, and restore that",
        },
      );
    migrated = step.migrate(migrated);
  }
  return migrated;
}
