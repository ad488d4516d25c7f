/** An action in; the same with its mistakes told as istioctl tells them, for scripts that look at its words, out. */
import { FairleadError, printable } from "../../lib/index.ts";
import type { Io } from "../command.ts";

export type Action = (run: () => Promise<void>) => Promise<void>;

export function istioctlAction(io: Io, exit: (status: number) => void): Action {
  return async (run) => {
    try {
      await run();
      exit(0);
    } catch (thrown) {
      const error = FairleadError.from(thrown);
      io.err(`Error: ${error.message.split("\n").map(printable).join("\n")}\n`);
      if (error.hint) io.err(`  ${error.hint}\n`);
      if (error.code === "internal" && io.env.FAIRLEAD_DEBUG && error.stack) io.err(`${error.stack}\n`);
      exit(error.code === "usage" ? 2 : 1);
    }
  };
}
