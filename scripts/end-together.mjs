// A child in; the word out that it ends when we are told to, and when whoever started us is gone.
// npm runs scripts by a shell: told to end, npm and that shell may go and leave us behind, with a mesh that nobody asked for.

const lookMs = 250;

/** @param {import("node:child_process").ChildProcess} child */
export function endTogether(child) {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  const parent = process.ppid;
  const looking = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(looking);
    child.kill("SIGTERM");
  }, lookMs);
  child.once("exit", () => clearInterval(looking));
}
