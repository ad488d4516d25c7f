/** A Pod of this machine's standalone mesh in; answers of its Envoy's admin port out. Entering its network needs root. */
import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { promisify } from "node:util";
import { FairleadError, fileLimits } from "../../lib/index.ts";
import { planNetwork, podNetworkPath } from "../../standalone/index.ts";
import type { PodRef } from "./pod.ts";

export type AskAdmin = (method: "GET" | "POST", path: string) => Promise<string>;

const run = promisify(execFile);

/** The admin port listens inside the Pod only; so the request is made by a process that enters there. */
const requestScript = `
const [, url, method] = process.argv;
const answer = await fetch(url, { method });
process.stdout.write(await answer.text());
if (!answer.ok) process.exitCode = 1;
`;

/** Says why where the Envoy cannot be asked. */
export function reachEnvoy(
  dataDir: string,
  pod: PodRef,
  port: number,
  signal: AbortSignal,
): { readonly ask: AskAdmin } | { readonly why: string } {
  if (!existsSync(dataDir)) return { why: `no standalone mesh runs on ${dataDir}` };
  if (pod.uid === undefined) return { why: `Pod ${pod.namespace}/${pod.name} is not known to the API` };
  const namespace = podNetworkPath(planNetwork({ dataDir: realpathSync(dataDir) }), pod.uid);
  if (!existsSync(namespace)) return { why: `Pod ${pod.namespace}/${pod.name} does not run on this machine` };
  if (process.getuid?.() !== 0) return { why: "only root may enter a Pod's network" };
  return {
    ask: async (method, path) => {
      const command = [process.execPath, "--input-type=module", "-e", requestScript, "--"];
      const args = [`--net=${namespace}`, "--", ...command, `http://127.0.0.1:${port}/${path}`, method];
      try {
        const { stdout } = await run("nsenter", args, { maxBuffer: fileLimits.maxBytes, timeout: 20_000, signal });
        return stdout;
      } catch (cause) {
        throw new FairleadError(
          "unavailable",
          `Envoy of ${pod.namespace}/${pod.name} does not answer on its admin port ${port}`,
          { hint: "is it running? `fairlead proxy-status` lists the connected ones", cause },
        );
      }
    },
  };
}
