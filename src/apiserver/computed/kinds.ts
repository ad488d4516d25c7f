/** Kinds whose objects are stored nowhere, but made when somebody asks: what Pods and nodes use, and which APIs there are. */
import type { KubeObject } from "../../model/index.ts";
import { listAt, textAt } from "../access.ts";
import { age } from "../age.ts";
import type { ApiKind, Column, JsonSchema } from "../kind.ts";
import { formatQuantity, parseQuantity } from "./quantity.ts";

const text = (name: string, cell: Column["cell"]): Column => ({ name, type: "string", priority: 0, cell });
const nameColumn: Column = { ...text("Name", (o) => o.metadata.name), format: "name" };
const ageColumn = text("Age", (o, now) => age(o.metadata.creationTimestamp ?? "", now));

type Shape = Pick<
  ApiKind,
  "group" | "version" | "kind" | "plural" | "singular" | "namespaced" | "columns" | "categories"
>;

/** Only read: there is nothing that could be written, or watched. */
const readOnly = (shape: Shape, properties: JsonSchema): ApiKind => ({
  ...shape,
  listKind: `${shape.kind}List`,
  shortNames: [],
  verbs: ["get", "list"],
  ...{ status: false, subresources: [], createOnUpdate: false, generation: false, warning: undefined },
  schema: { custom: { type: "object", properties } },
});

const quantities: JsonSchema = { type: "object", additionalProperties: { type: "string" } };
const measured = { timestamp: { type: "string", format: "date-time" }, window: { type: "string" } };
const metrics = { group: "metrics.k8s.io", version: "v1beta1", singular: "", categories: [] };

const usageOf = (name: "cpu" | "memory", object: KubeObject): string => {
  const usages = object.kind === "NodeMetrics" ? [object] : listAt(object, "containers");
  return formatQuantity(
    name,
    usages.reduce<number>((sum, one) => sum + parseQuantity(textAt(one, "usage", name)), 0),
  );
};
const usageColumns = [
  nameColumn,
  text("CPU", (o) => usageOf("cpu", o)),
  text("Memory", (o) => usageOf("memory", o)),
  text("Window", (o) => textAt(o, "window")),
];

export const podMetricsKind = readOnly(
  { ...metrics, kind: "PodMetrics", plural: "pods", namespaced: true, columns: usageColumns },
  {
    ...measured,
    containers: {
      type: "array",
      items: { type: "object", properties: { name: { type: "string" }, usage: quantities } },
    },
  },
);

export const nodeMetricsKind = readOnly(
  { ...metrics, kind: "NodeMetrics", plural: "nodes", namespaced: false, columns: usageColumns },
  { ...measured, usage: quantities },
);

const isAvailable = (object: KubeObject): string =>
  textAt(
    listAt(object, "status", "conditions").find((condition) => textAt(condition, "type") === "Available"),
    "status",
  );

export const apiServiceKind = readOnly(
  {
    ...{ group: "apiregistration.k8s.io", version: "v1", kind: "APIService" },
    ...{ plural: "apiservices", singular: "apiservice", namespaced: false, categories: ["api-extensions"] },
    columns: [nameColumn, text("Service", () => "Local"), text("Available", isAvailable), ageColumn],
  },
  { spec: { type: "object" }, status: { type: "object" } },
);

export const computedKinds: readonly ApiKind[] = [podMetricsKind, nodeMetricsKind, apiServiceKind];
