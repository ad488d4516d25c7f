/** What was looked at in; findings in the form of the preflight checks out. */
import type { Finding } from "../../../scripts/preflight/finding.mjs";
import { FairleadError } from "../../lib/index.ts";

export type Row = readonly [name: string, isGood: boolean, detail: string, remedy: string];

export const finding =
  (section: string) =>
  ([name, isGood, detail, remedy]: Row): Finding =>
    isGood ? { section, name, state: "ok", detail: "" } : { section, name, state: "warning", detail, remedy };

export const unreachable = (section: string, name: string, error: unknown, remedy: string): Finding => ({
  ...{ section, name, state: "error", detail: FairleadError.from(error).message, remedy },
});
