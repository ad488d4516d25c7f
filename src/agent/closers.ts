/** What was opened in; all of it closed, last made first, out. */
import { FairleadError, type Logger } from "../lib/index.ts";

export interface Closers {
  add(close: () => Promise<unknown> | unknown): void;
  closeAll(): Promise<void>;
}

/** What cannot be closed is told, and keeps nothing else open. */
export function createClosers(log: Logger): Closers {
  const list: (() => Promise<unknown> | unknown)[] = [];
  return {
    add: (close) => list.unshift(close),
    async closeAll() {
      for (const close of list)
        try {
          await close();
        } catch (error) {
          log.warn("something could not be closed", { cause: FairleadError.from(error).message });
        }
    },
  };
}
