/** A store's path in; its LMDB environment out, which is opened anew after a write that failed inside of it. */
import { getSystemErrorName } from "node:util";
import { open, type RootDatabase } from "lmdb";
import { FairleadError, isDiskFull, systemCode } from "../lib/index.ts";
import { openProbe } from "./store-probe.ts";

export type Database = RootDatabase<Buffer, string>;

export interface StoreDatabase {
  readonly current: Database;
  /**
   * Runs what writes, all or nothing. Where the disk takes no writes LMDB is left alone. Where it failed in LMDB, whose
   * environment may refuse everything from then on, the next write that the disk would take begins with a fresh one.
   */
  write(work: (db: Database) => void): void;
  close(): Promise<void>;
}

/** `check`: throws where a fresh environment is not what it was before. */
export function openStoreDatabase(path: string, check: (db: Database) => void): StoreDatabase {
  const probe = openProbe(path);
  let current = openDatabase(path);
  let doubt: { readonly cause: unknown; isClosed: boolean } | undefined;

  const close = (cause: unknown): void => {
    const doubted = { cause, isClosed: false };
    doubt = doubted;
    const closed = (): void => {
      doubted.isClosed = true;
    };
    current.close().then(closed, closed);
  };
  const reopen = (): void => {
    if (!doubt) return;
    if (!doubt.isClosed) throw doubt.cause;
    current = openDatabase(path);
    doubt = undefined;
    try {
      check(current);
    } catch (error) {
      close(error);
      throw error;
    }
  };
  return {
    get current() {
      return current;
    },
    write(work) {
      try {
        probe.check(doubt !== undefined);
        reopen();
      } catch (error) {
        throw unwritable(error);
      }
      try {
        work(current);
      } catch (error) {
        if (isOfLmdb(error)) close(error);
        throw unwritable(error);
      }
    },
    async close() {
      probe.close();
      if (!doubt) await current.close();
    },
  };
}

export function openDatabase(path: string, readOnly = false): Database {
  return open<Buffer, string>({
    path,
    readOnly,
    encoding: "binary",
    // Otherwise a commit is reported before it has reached the disk.
    overlappingSync: false,
    noMemInit: false,
    maxReaders: 16,
    compression: false,
  });
}

/** Its errors have the system's numbers, or numbers of its own; those of Node have names. */
const isOfLmdb = (error: unknown): boolean => systemCode(error) === undefined;

function unwritable(error: unknown): FairleadError {
  if (error instanceof FairleadError) return error;
  const isFull = isDiskFull(error) || codeOf(error) === "ENOSPC" || codeOf(error) === "EDQUOT";
  const remedy = isFull ? "free space on the disk of the data folder" : "look after the disk of the data folder";
  const cause = error instanceof Error ? error.message : String(error);
  return new FairleadError("storage", `the store cannot be written: ${codeOf(error) ?? cause}`, {
    cause: error,
    hint: `${remedy}; writing goes on by itself`,
  });
}

function codeOf(error: unknown): string | undefined {
  const named = systemCode(error);
  if (named !== undefined || !(error instanceof Error) || !("code" in error)) return named;
  const { code } = error;
  return typeof code === "number" && code > 0 && code < 4096 ? getSystemErrorName(-code) : undefined;
}
