/** The entry of the bundle: the process's own streams, signals and arguments. */
import { runProgram } from "./program.ts";

const abort = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => abort.abort(new Error(signal)));
// A reader that has gone away (`fairlead … | head`) is no error.
process.stdout.on("error", () => process.exit(0));

process.exitCode = await runProgram(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  tty: process.stdout.isTTY === true,
  signal: abort.signal,
});
