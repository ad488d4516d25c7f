/** A CustomResourceDefinition in, the kinds that it makes the API serve out: one per served version. */
import type { KubeObject } from "../model/index.ts";
import { at, type Fields, listAt, numberAt, recordAt, textAt, textsAt } from "./access.ts";
import { age } from "./age.ts";
import { evaluateJsonPath, parseJsonPath } from "./json-path.ts";
import { type ApiKind, type Column, type JsonSchema, type ScalePaths, standardVerbs } from "./kind.ts";
import { ageColumn, nameColumn } from "./table-core.ts";

export function kindsOfDefinition(definition: KubeObject): readonly ApiKind[] {
  if (definition.metadata.deletionTimestamp !== undefined) return [];
  const spec = recordAt(definition, "spec");
  return listAt(spec, "versions")
    .filter((version) => at(version, "served") === true)
    .map((version) => customKind(spec, recordAt(version)));
}

/** The version in which objects are kept. */
export function storageVersion(definition: KubeObject): string {
  return textAt(
    listAt(definition, "spec", "versions").find((version) => at(version, "storage") === true),
    "name",
  );
}

function customKind(spec: Fields, version: Fields): ApiKind {
  const names = recordAt(spec, "names");
  const kind = textAt(names, "kind");
  const hasStatus = at(version, "subresources", "status") !== undefined;
  const scale = scalePaths(at(version, "subresources", "scale"));
  const deprecated = version.deprecated === true;
  const warning =
    textAt(version, "deprecationWarning") ||
    `${textAt(spec, "group")}/${textAt(version, "name")} ${kind} is deprecated`;
  return {
    group: textAt(spec, "group"),
    version: textAt(version, "name"),
    kind,
    listKind: textAt(names, "listKind") || `${kind}List`,
    plural: textAt(names, "plural"),
    singular: textAt(names, "singular") || kind.toLowerCase(),
    namespaced: textAt(spec, "scope") !== "Cluster",
    shortNames: textsAt(names, "shortNames"),
    categories: textsAt(names, "categories"),
    verbs: standardVerbs,
    status: hasStatus,
    subresources: [...(hasStatus ? ["status"] : []), ...(scale ? ["scale"] : [])],
    scale,
    createOnUpdate: false,
    generation: true,
    columns: printerColumns(version),
    warning: deprecated ? warning : undefined,
    schema: { custom: recordAt(version, "schema", "openAPIV3Schema") as JsonSchema },
  };
}

function scalePaths(scale: unknown): ScalePaths | undefined {
  if (scale === undefined) return undefined;
  const steps = (name: string): readonly string[] => textAt(scale, name).replace(/^\./, "").split(".");
  return {
    wanted: steps("specReplicasPath"),
    current: steps("statusReplicasPath"),
    selector: textAt(scale, "labelSelectorPath") === "" ? undefined : steps("labelSelectorPath"),
  };
}

function printerColumns(version: Fields): readonly Column[] {
  const own = listAt(version, "additionalPrinterColumns").map(printerColumn);
  return [nameColumn, ...(own.length === 0 ? [ageColumn] : own)];
}

function printerColumn(column: unknown): Column {
  const path = parseJsonPath(textAt(column, "jsonPath"));
  const type = textAt(column, "type") || "string";
  const description = textAt(column, "description");
  return {
    name: textAt(column, "name"),
    type,
    ...(textAt(column, "format") === "" ? {} : { format: textAt(column, "format") }),
    ...(description === "" ? {} : { description }),
    priority: numberAt(column, "priority") ?? 0,
    cell: (object, now) => cellText(evaluateJsonPath(path, object), type, now),
  };
}

function cellText(values: readonly unknown[], type: string, now: Date): unknown {
  const [first] = values;
  if (first === undefined || first === null) return type === "string" ? "" : undefined;
  if (type === "date") return age(String(first), now);
  if (type === "integer" || type === "number" || type === "boolean") return first;
  // As Kubernetes prints them: lists as JSON, several finds side by side.
  return values.map((value) => (typeof value === "object" ? JSON.stringify(value) : String(value))).join(" ");
}
