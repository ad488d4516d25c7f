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
    columnDefinitions: options.columns ? definitionsOf(kind) : null,
    rows: objects.map((object) => ({
      cells: kind.columns.map((column) => column.cell(object, options.now) ?? null),
      ...(options.includeObject === "None"
        ? {}
        : { object: options.includeObject === "Object" ? object : metadataOnly(object) }),
    })),
  };
}

function definitionsOf(kind: ApiKind): unknown {
  return kind.columns.map(({ name, type, format, description, priority }) => ({
    name,
    type,
    format: format ?? "",
    description: description ?? "",
    priority,
  }));
}
