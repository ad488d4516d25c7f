/** Anything that was thrown in; a line of cause and one of remedy on standard error out. */
import { FairleadError, printable } from "../lib/index.ts";
import type { Io } from "./command.ts";

export function tellError(thrown: unknown, io: Pick<Io, "err" | "env">): FairleadError {
  const error = FairleadError.from(thrown);
  io.err(`fairlead: ${error.message.split("\n").map(printable).join("\n")}\n`);
  if (error.hint) io.err(`  ${error.hint}\n`);
  if (error.code === "internal" && io.env.FAIRLEAD_DEBUG && error.stack) io.err(`${error.stack}\n`);
  return error;
}
