/** The API's own Table of objects in; the rows that kubectl prints out. */
import { isRecord, readList, readNumber, readRecord, readText } from "../../lib/index.ts";
import { printTabs } from "../table.ts";

export const tableAccept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

export interface TableOptions {
  /** Also columns that are of less interest. */
  readonly wide: boolean;
  readonly withNamespace: boolean;
  /** Before each name, where several types are shown: `service/`. */
  readonly prefix: string;
}

/** Undefined where the API does not know tables. */
export function printApiTable(answer: unknown, options: TableOptions): string | undefined {
  const table = readRecord(answer);
  if (table.kind !== "Table") return undefined;
  const columns = readList(table.columnDefinitions)
    .map(readRecord)
    .map((column, index) => ({ index, name: readText(column.name), priority: readNumber(column.priority) ?? 0 }))
    .filter((column) => options.wide || column.priority === 0);
  const rows = readList(table.rows).map(readRecord);
  if (rows.length === 0) return "";
  const lines = rows.map((row) => {
    const values = readList(row.cells);
    const cells = columns.map(({ index }) => cellText(values[index]));
    const [name = "", ...rest] = cells;
    const namespace = readText(readRecord(readRecord(row.object).metadata).namespace);
    return [...(options.withNamespace ? [namespace] : []), `${options.prefix}${name}`, ...rest];
  });
  const header = [...(options.withNamespace ? ["NAMESPACE"] : []), ...columns.map(({ name }) => name.toUpperCase())];
  // kubectl's own measures.
  return printTabs([header, ...lines], 3, 6);
}

/** A cell has one line. */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : isRecord(value) ? JSON.stringify(value) : String(value);
  const [line = ""] = text.split(/[\f\n\r]/);
  return line === text ? text : `${line}...`;
}
