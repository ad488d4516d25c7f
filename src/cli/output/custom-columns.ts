/** `NAME:.metadata.name,IP:.status.podIP` in; a printer of objects with these columns, as kubectl has it, out. */
import { FairleadError, isRecord } from "../../lib/index.ts";
import { printTabs } from "../table.ts";
import { parseJsonPath } from "./json-path.ts";

export function customColumns(text: string): (data: unknown) => string {
  const columns = text.split(/,(?=[^:,]+:)/).map((column) => {
    const [, header, path] = /^([^:]+):(.+)$/.exec(column.trim()) ?? [];
    if (header === undefined || path === undefined)
      throw new FairleadError("usage", `custom-columns: ${JSON.stringify(column)} is no column`, {
        hint: "write it as HEADER:.path, such as NAME:.metadata.name,IP:.status.podIP",
      });
    const plain = path.replace(/^\{(.*)\}$/, "$1");
    return { header, value: parseJsonPath(`{${plain.startsWith(".") ? plain : `.${plain}`}}`) };
  });
  return (data) => {
    const items = isRecord(data) && data.kind === "List" && Array.isArray(data.items) ? data.items : [data];
    const rows = items.map((item: unknown) => columns.map(({ value }) => value(item) || "<none>"));
    return printTabs([columns.map(({ header }) => header), ...rows], 3, 6);
  };
}
