/** A kind in; a row for each change of its objects, as they happen, out, until the command is stopped. */
import { collectionPath, type KindRef, type KubeClient, objectPath } from "../../kube/index.ts";
import { isRecord, readRecord, readText } from "../../lib/index.ts";
import type { Io } from "../command.ts";
import { printApiTable, type TableOptions, tableAccept } from "./table.ts";

export interface WatchQuestion {
  readonly kind: KindRef;
  readonly names: readonly string[];
  readonly namespace: string | undefined;
  readonly selector: string | undefined;
}

export async function watchRows(
  client: KubeClient,
  { kind, names, namespace, selector }: WatchQuestion,
  options: TableOptions,
  io: Io,
): Promise<void> {
  const query = selector === undefined ? "" : `?labelSelector=${encodeURIComponent(selector)}`;
  const first = readRecord(
    await client.raw("GET", `${collectionPath(kind, namespace)}${query}`, undefined, tableAccept),
  );
  const isWanted = (row: unknown): boolean => names.length === 0 || names.includes(nameOf(row));
  const rows = (Array.isArray(first.rows) ? first.rows : []).filter(isWanted);
  let columns: unknown = first.columnDefinitions;
  let hasHeader = false;
  const print = (row: unknown): void => {
    const text = printApiTable({ kind: "Table", columnDefinitions: columns, rows: [row] }, options) ?? "";
    const lines = text.split("\n").filter((line) => line !== "");
    io.out(`${(hasHeader ? lines.slice(1) : lines).join("\n")}\n`);
    hasHeader = true;
  };
  if (rows.length > 0) {
    io.out(printApiTable({ ...first, rows }, options) ?? "");
    hasHeader = true;
  }
  const known = new Map<string, unknown>(rows.map((row) => [keyOf(row), row]));
  const resourceVersion = readText(readRecord(first.metadata).resourceVersion);
  for await (const { type, object } of client.watch(kind, {
    namespace,
    labelSelector: selector,
    resourceVersion,
    signal: io.signal,
  })) {
    const { name, namespace: where } = readRecord(readRecord(object).metadata);
    const ref = { name: readText(name), namespace: readText(where) || undefined };
    if (type === "BOOKMARK" || (names.length > 0 && !names.includes(ref.name))) continue;
    const key = `${ref.namespace ?? ""}/${ref.name}`;
    const table =
      type === "DELETED"
        ? undefined
        : await client.raw("GET", objectPath(kind, ref), undefined, tableAccept).catch(() => undefined);
    const [row] = isRecord(table) && Array.isArray(table.rows) ? table.rows : [known.get(key)];
    if (row === undefined) continue;
    columns = isRecord(table) ? table.columnDefinitions : columns;
    if (type === "DELETED") known.delete(key);
    else known.set(key, row);
    print(row);
  }
}

const metadataOf = (row: unknown): Readonly<Record<string, unknown>> =>
  readRecord(readRecord(readRecord(row).object).metadata);
const nameOf = (row: unknown): string => readText(metadataOf(row).name);
const keyOf = (row: unknown): string => `${readText(metadataOf(row).namespace)}/${nameOf(row)}`;
