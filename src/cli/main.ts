/** The entry of the bundle: the process's own streams, signals and arguments. */
import { argumentsAs } from "./called-as.ts";
import { runProgram } from "./program.ts";

const abort = new AbortController();
const [, program = "", ...words] = process.argv;
const args = argumentsAs(program, words);
/** Commands that have something to take back before they end; all others end at once, as they would without us. */
const tidy = new Set(["up", "run", "discovery", "api", "edge", "agent", "down"]);
if (tidy.has(args[0] ?? ""))
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => abort.abort(new Error(signal)));
// A reader that has gone away (`fairlead … | head`) is no error.
process.stdout.on("error", () => process.exit(0));

process.exitCode = await runProgram(args, {
  env: process.env,
  cwd: process.cwd(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  tty: process.stdout.isTTY === true,
  signal: abort.signal,
});

// Everything that a command started, it has stopped. Should a handle be left all the same, say so and end.
setTimeout(() => {
  process.stderr.write(`fairlead: still open at the end: ${process.getActiveResourcesInfo().join(", ")}\n`);
  process.exit();
}, 5_000).unref();
