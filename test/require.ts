/** What a test needs of the machine. Missing means skipped and counted as such; FAIRLEAD_REQUIRE=root,envoy,… or =all turns that into a failure. */
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { findEnvoy } from "../scripts/envoy-path.mjs";
import { findHelm } from "../scripts/helm.mjs";

export { findEnvoy, findHelm };

export type Need = "root" | "envoy" | "kubectl" | "helm" | "iptables" | "nft" | "openssl" | "registry" | "network";

const onPath = (tool: string): string | undefined =>
  (process.env.PATH ?? "")
    .split(":")
    .map((dir) => join(dir, tool))
    .find((file) => existsSync(file));

/** The folder of recorded Istio behaviour that lies beside the project where it is developed. */
export const conformanceDir = join(import.meta.dirname, "../../shared/conformance");

/** An address of this machine that is not loopback. */
export const outsideAddress = (): string | undefined =>
  Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .find((entry) => !entry.internal && isIPv4(entry.address))?.address;

const present: Record<Need, () => boolean> = {
  root: () => process.getuid?.() === 0 && spawnSync("ip", ["netns", "list"]).status === 0,
  envoy: () => findEnvoy() !== undefined,
  kubectl: () => onPath("kubectl") !== undefined,
  helm: () => findHelm() !== undefined,
  iptables: () => onPath("iptables") !== undefined || existsSync("/usr/sbin/iptables"),
  nft: () => onPath("nft") !== undefined || existsSync("/usr/sbin/nft"),
  registry: () => spawnSync("npm", ["ping", "--fetch-retries=1", "--fetch-timeout=10000"]).status === 0,
  openssl: () => onPath("openssl") !== undefined,
  network: () => outsideAddress() !== undefined,
};

/** True when the tests must be skipped; throws where the run demands the tool. Use as `describe.skipIf(lacks("envoy"))`. */
export function lacks(...needs: readonly Need[]): boolean {
  const missing = needs.filter((need) => !present[need]());
  const demanded = (process.env.FAIRLEAD_REQUIRE ?? "").split(",");
  const refused = missing.filter((need) => demanded.includes(need) || demanded.includes("all"));
  if (refused.length > 0) throw new Error(`this run requires ${refused.join(", ")}, which the machine does not have`);
  const log = process.env.FAIRLEAD_SKIP_LOG;
  if (missing.length > 0 && log) appendFileSync(log, `${missing.join(", ")} not at hand\n`);
  return missing.length > 0;
}
