/** A data folder in; where the parts of the mesh that runs on it are bound, and what else `up` tells of them, out. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord, parseJson, systemCode } from "../../lib/index.ts";

export const addressesFile = (dir: string): string => join(dir, "addresses.json");

/** By the names that `up` gives them; undefined where no mesh runs. */
export function readAddresses(dir: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseJson(readFileSync(addressesFile(dir), "utf8"));
    return isRecord(value) ? value : undefined;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
