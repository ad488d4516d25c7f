/** Objects in, the Table that kubectl prints out. */
import type { KubeObject } from "../model/index.ts";
import type { ApiKind } from "./kind.ts";
import { metadataOnly } from "./represent.ts";

export interface TableOptions {
  readonly now: Date;
  /** `Metadata` (default), `Object` or `None`. */
  readonly includeObject: string | null;
  readonly columns: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export function tableOf(kind: ApiKind, objects: readonly KubeObject[], options: TableOptions): unknown {
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: options.metadata,
    columnDefinitions: options.columns ? columnDefinitions(kind) : null,
    rows: objects.map((object) => tableRow(kind, object, options.now, options.includeObject)),
  };
}

export function tableRow(
  kind: ApiKind,
  object: KubeObject,
  now: Date,
  includeObject: TableOptions["includeObject"],
): unknown {
  return {
    cells: kind.columns.map((column) => column.cell(object, now) ?? null),
    ...(includeObject === "None" ? {} : { object: includeObject === "Object" ? object : metadataOnly(object) }),
  };
}

export function columnDefinitions(kind: ApiKind): unknown {
  return kind.columns.map(({ name, type, format, description, priority }) => ({
    name,
    type,
    format: format ?? "",
    description: description ?? "",
    priority,
  }));
}
