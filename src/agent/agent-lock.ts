/** An agent's working folder in; the word that no other agent runs in it out: a second one would take the first one's sockets. */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  FairleadError,
  isAlive,
  type Logger,
  type Owner,
  ownerOf,
  parseJson,
  readNumber,
  readRecord,
  readText,
} from "../lib/index.ts";
import { replaceSecretFile } from "../pki/index.ts";
import { proxyFolder } from "./envoy/record.ts";

/** What is returned gives the folder free. One that was killed keeps it from nobody. */
export async function lockAgent(workDir: string, log: Logger): Promise<() => void> {
  const file = join(proxyFolder(workDir), "agent.pid");
  const other = readOwner(file);
  if (other && other.pid !== process.pid && isAlive(other))
    throw new FairleadError("locked", `another agent, process ${other.pid}, runs in ${workDir}`, {
      hint: "a Pod has one agent; stop the other one first",
    });
  try {
    mkdirSync(proxyFolder(workDir), { recursive: true, mode: 0o700 });
    await replaceSecretFile(file, JSON.stringify(ownerOf(process.pid)));
  } catch (error) {
    // Better an agent that does not see the next one than none.
    log.warn("the agent cannot be written down", { cause: FairleadError.from(error).message });
  }
  return () => rmSync(file, { force: true });
}

function readOwner(file: string): Owner | undefined {
  try {
    const { pid, started } = readRecord(parseJson(readFileSync(file, "utf8")));
    return { pid: readNumber(pid) ?? 0, started: readText(started) };
  } catch {
    return undefined;
  }
}
