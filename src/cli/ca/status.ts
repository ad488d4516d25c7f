/** A control plane's word on its CA in; tables of roots and proxies out. */
import { isRecord, readList, readRecord, readText } from "../../lib/index.ts";
import type { Io } from "../command.ts";
import { askDebug, type DebugFlags } from "../debug-client.ts";
import { parseOutput } from "../output.ts";
import { printTable } from "../table.ts";

export interface CaStatusFlags extends DebugFlags {
  readonly output: string;
}

type Row = Readonly<Record<string, unknown>>;

export async function caStatus(flags: CaStatusFlags, io: Io): Promise<number> {
  const answer = await askDebug(flags, "ca", io);
  const forms = {
    plain: () => describe(readRecord(answer)),
    data: () => answer,
    names: () => rows(readRecord(answer)["roots"]).map((root) => readText(root["name"])),
  };
  io.out(parseOutput(flags.output, "table")(forms));
  return 0;
}

function describe(answer: Row): string {
  const signer = readRecord(answer["signer"]);
  const rotation = isRecord(answer["rotation"]) ? answer["rotation"] : undefined;
  const refused = readText(answer["refused"]);
  const lines = [
    `from:      ${readText(answer["source"])}`,
    `signer:    ${readText(signer["name"])} (${readText(signer["subject"])}), until ${readText(signer["until"])}`,
    ...(refused === "" ? [] : [`refused:   ${refused}`]),
    ...(rotation ? [`rotation:  ${rotationText(rotation)}`] : []),
  ];
  const roots = rows(answer["roots"]).map((root) => [
    readText(root["name"]),
    readText(root["subject"]),
    readText(root["until"]),
    readText(root["fingerprint"]),
  ]);
  const proxies = rows(answer["proxies"]).map((proxy) => [
    readText(proxy["proxy"]),
    proxy["believesAll"] === true ? "yes" : "no",
    readText(proxy["signedBy"]),
    readText(proxy["told"]),
  ]);
  return [
    `${lines.join("\n")}\n`,
    printTable(["ROOT", "SUBJECT", "UNTIL", "FINGERPRINT"], roots, 4),
    proxies.length === 0
      ? "no proxy is connected\n"
      : printTable(["PROXY", "BELIEVES ALL ROOTS", "SIGNED BY", "LEARNS OF ROOTS"], proxies, 4),
  ].join("\n");
}

function rotationText(rotation: Row): string {
  const back = rotation["rollback"] === true ? " (rollback)" : "";
  return `${readText(rotation["phase"])}${back} since ${readText(rotation["since"])}`;
}

function rows(value: unknown): readonly Row[] {
  return readList(value).map(readRecord);
}
