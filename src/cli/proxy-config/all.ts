/** A whole dump in; every table, one below the other, or the dump itself without its keys, out. */
import { FairleadError } from "../../lib/index.ts";
import { printSortedYaml } from "../print.ts";
import { viewBootstrap } from "./bootstrap.ts";
import { viewClusters } from "./cluster.ts";
import { parseDump } from "./dump.ts";
import { readDumpJson } from "./dump-json.ts";
import { viewAssignments } from "./eds.ts";
import type { ProxyConfigFlags } from "./flags.ts";
import { viewListeners } from "./listener.ts";
import type { Format } from "./output.ts";
import { createProtoJson } from "./proto-json.ts";
import { redactDump } from "./redact.ts";
import { viewRoutes } from "./route.ts";
import { viewSecrets } from "./secret.ts";
import type { DumpSource } from "./source.ts";
import type { View } from "./view.ts";

export async function printAll(
  source: DumpSource,
  flags: ProxyConfigFlags,
  format: Format,
  out: (text: string) => void,
): Promise<void> {
  const text = await source.configDump("?include_eds=true");
  if (format !== "short") {
    out(`${wholeDump(text, format)}\n`);
    return;
  }
  const dump = parseDump(text, await createProtoJson());
  const verbose = flags.verbose ?? true;
  const parts: readonly (readonly [string, () => View])[] = [
    ["BOOTSTRAP", () => viewBootstrap(dump)],
    ["CLUSTER", () => viewClusters(dump, flags)],
    ["LISTENER", () => viewListeners(dump, { ...flags, verbose })],
    ["ROUTE", () => viewRoutes(dump, { name: flags.name, verbose })],
    ["SECRET", () => viewSecrets(dump, new Date())],
    ["ENDPOINTS", () => viewAssignments(dump, { address: flags.address, port: flags.port })],
  ];
  for (const [index, [title, view]] of parts.entries()) {
    // One after the other: what stands before a section that is missing is shown all the same.
    if (index > 0) out("\n");
    if (flags.withHeaders) out(`------ ${title} INFO ------\n\n`);
    out(view().short("among-others"));
  }
}

/** As it came, unless there was something to hide. */
function wholeDump(text: string, format: "json" | "yaml"): string {
  let parsed: unknown;
  try {
    parsed = readDumpJson(text, "json");
  } catch (error) {
    // A dump that was cut short is still worth a look, but only where it cannot hold a key.
    if (format === "json" && error instanceof FairleadError && !/private_?key|password|secret/i.test(text)) return text;
    throw error;
  }
  const { json, changed } = redactDump(parsed);
  if (format === "yaml") return printSortedYaml(json);
  return changed ? JSON.stringify(json, null, 4) : text;
}
