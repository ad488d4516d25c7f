/** A data folder in; the link to its mesh's page, good once, out. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { oneTimeToken } from "../../dashboard/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { createSecretFile, readSecretFile } from "../../pki/index.ts";
import { readAddresses } from "./bound-addresses.ts";

export const dashboardSecret = (dir: string): string => join(dir, "dashboard-secret");

/** Made once: pages that are open outlive a restart. */
export async function ensureDashboardSecret(dir: string): Promise<void> {
  const file = dashboardSecret(dir);
  if (existsSync(file)) return;
  await createSecretFile(file, `${randomBytes(32).toString("base64url")}\n`);
}

export async function readDashboardSecret(file: string): Promise<Uint8Array> {
  const secret = Buffer.from((await readSecretFile(file)).trim(), "base64url");
  if (secret.length < 32)
    throw new FairleadError("invalid", `${file} is no secret of a page`, { hint: "remove it and start again" });
  return secret;
}

export async function dashboardUrl(dir: string, now: Date): Promise<string> {
  const token = oneTimeToken(await readDashboardSecret(dashboardSecret(dir)), now.getTime());
  return `http://${addressOf(dir)}/#token=${token}`;
}

function addressOf(dir: string): string {
  const addresses = readAddresses(dir);
  if (!addresses)
    throw new FairleadError("not-found", `no standalone mesh runs on ${dir}`, {
      hint: "start one with `fairlead up`, or name its folder with --data DIR",
    });
  if (typeof addresses.dashboard === "string") return addresses.dashboard;
  throw new FairleadError("unavailable", "this mesh serves no page", { hint: "its log says why" });
}
