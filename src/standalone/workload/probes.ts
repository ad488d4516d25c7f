/** What a kubelet would ask of a workload's containers: whether the proxy has its configuration, and whether the process listens. */
import { readFile } from "node:fs/promises";
import { FairleadError } from "../../lib/index.ts";
import type { Probe } from "./readiness.ts";

const answerMs = 3_000;

/** The agent answers for Envoy as well. */
export function probeProxy(address: string): Probe {
  return async (_running, signal) => {
    const late = AbortSignal.timeout(answerMs);
    const answer = await fetch(`http://${address}:15020/healthz/ready`, {
      signal: AbortSignal.any([signal, late]),
    }).catch((cause: unknown) => {
      if (late.aborted)
        throw new FairleadError("timeout", `no answer from the agent in ${answerMs / 1000} s`, { cause });
      throw new FairleadError("unavailable", "the agent does not listen", { cause });
    });
    const text = await answer.text();
    if (!answer.ok) throw new FairleadError("invalid", text || `the agent answered ${answer.status}`);
  };
}

/** Looks at the sockets of the process's own network namespace: nothing has to be sent to a server that may not expect it. */
export function probeListen(port: number | undefined): Probe {
  const wanted = port?.toString(16).toUpperCase().padStart(4, "0");
  return async ({ pid }) => {
    if (wanted === undefined) return;
    const tables = await Promise.all(
      ["tcp", "tcp6"].map((table) => readFile(`/proc/${pid}/net/${table}`, "utf8").catch(() => "")),
    );
    if (!tables.some((table) => table.split("\n").some((row) => isListening(row, wanted))))
      throw new FairleadError("unavailable", `it does not listen on port ${port}`);
  };
}

/** Column 2 is the local address, column 4 the state; 0A is LISTEN. */
function isListening(row: string, port: string): boolean {
  const columns = row.trim().split(/\s+/);
  return columns[3] === "0A" && columns[1]?.endsWith(`:${port}`) === true;
}
