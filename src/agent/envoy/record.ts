/** Which Envoy runs for a working folder, written down so that an agent that starts after another finds it. */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { isAlive, isRecord, type Owner, parseJson, readText } from "../../lib/index.ts";
import { replaceSecretFile } from "../../pki/index.ts";

export interface EnvoyRecord {
  readonly process: Owner;
  /** Digest of its command line and bootstrap: another one needs another Envoy. */
  readonly version: string;
  /** The folder, by its secret name, of the sockets that it was told of: the next agent must serve the same. */
  readonly sockets: string;
  /** The pipe that its output goes to; empty where it writes elsewhere. */
  readonly output: string;
}

/** The one folder that an agent may write to where its root filesystem is read-only, as Pods have it mounted. */
export const proxyFolder = (workDir: string): string => join(workDir, "etc/istio/proxy");

const fileOf = (workDir: string): string => join(proxyFolder(workDir), "envoy.pid");

/** Where agents wrote it until that folder was the only one: an agent that is upgraded finds the Envoy of the one before. */
const earlierFileOf = (workDir: string): string => join(workDir, "envoy.pid");

export async function writeEnvoyRecord(workDir: string, record: EnvoyRecord): Promise<void> {
  mkdirSync(dirname(fileOf(workDir)), { recursive: true, mode: 0o700 });
  await replaceSecretFile(fileOf(workDir), `${JSON.stringify(record)}\n`);
}

export function removeEnvoyRecord(workDir: string): void {
  for (const file of [fileOf(workDir), earlierFileOf(workDir)]) rmSync(file, { force: true });
}

/** Undefined where none lives. */
export function livingEnvoy(workDir: string): EnvoyRecord | undefined {
  return readLiving(fileOf(workDir)) ?? readLiving(earlierFileOf(workDir));
}

function readLiving(file: string): EnvoyRecord | undefined {
  try {
    const value = parseJson(readFileSync(file, "utf8"));
    if (!isRecord(value) || !isRecord(value.process)) return undefined;
    const { pid, started } = value.process;
    if (typeof pid !== "number" || pid <= 1 || typeof started !== "string") return undefined;
    const [version, sockets, output] = ["version", "sockets", "output"].map((key) => readText(value[key]));
    if (!version || !sockets || output === undefined || !/^[0-9a-z]+$/i.test(sockets)) return undefined;
    const record = { process: { pid, started }, version, sockets, output };
    return isAlive(record.process) ? record : undefined;
  } catch {
    return undefined;
  }
}
