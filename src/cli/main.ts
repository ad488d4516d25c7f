/** The entry of the bundle: the process's own streams, signals and arguments. */
import { argumentsAs } from "./called-as.ts";
import { runProgram } from "./program.ts";

const abort = new AbortController();
const [, program = "", ...words] = process.argv;
const args = argumentsAs(program, words);
/** Commands that have something to take back before they end; all others end at once, as they would without us. */
const tidy = new Set(["up", "run", "discovery", "api", "edge", "agent", "down", "dashboard"]);
const isServer = tidy.has(args[0] ?? "");
if (isServer)
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => abort.abort(new Error(signal)));
// A reader that has gone away (`fairlead … | head`) is no error. One that serves goes on when a full disk takes no more of
// its log; an answer that could not be written whole is a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  if (isServer) return;
  process.stderr.write(`fairlead: the output could not be written: ${error.message}\n`);
  process.exit(1);
});
process.stderr.on("error", () => {});

process.exitCode = await runProgram(args, {
  env: process.env,
  cwd: process.cwd(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  tty: process.stdout.isTTY === true,
  errTty: process.stderr.isTTY === true,
  signal: abort.signal,
});

// Everything that a command started, it has stopped. Should a handle be left all the same, say so and end.
setTimeout(() => {
  process.stderr.write(`fairlead: still open at the end: ${process.getActiveResourcesInfo().join(", ")}\n`);
  process.exit();
}, 5_000).unref();
