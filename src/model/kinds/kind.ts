/** What the API server and the control plane know of a kind: its names, versions and schema, as plain data. */
import type { Infer, ObjectNode } from "./schema.ts";

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "date" | "boolean";
  readonly jsonPath: string;
  readonly priority?: number;
}

export interface KindVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecationWarning?: string;
  /** Where the version's rules are not those of the kind's `spec`; the shape is the same. */
  readonly spec?: ObjectNode;
}

export interface Kind<Spec extends ObjectNode = ObjectNode, Status extends ObjectNode = ObjectNode> {
  readonly group: string;
  readonly versions: readonly KindVersion[];
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly scope: "Namespaced" | "Cluster";
  readonly printerColumns: readonly PrinterColumn[];
  readonly spec: Spec;
  /** Undefined for kinds without a status subresource. */
  readonly status: Status | undefined;
  /** The CRD refuses an object without these top-level fields. */
  readonly required?: readonly string[];
  readonly crdLabels?: Readonly<Record<string, string>>;
  readonly crdAnnotations?: Readonly<Record<string, string>>;
  /** Protobuf JSON (Istio's kinds) or plain Kubernetes JSON (Gateway API). */
  readonly encoding: "protobuf" | "kubernetes";
}

export type SpecOf<K extends Kind> = Infer<K["spec"]>;

/** Keeps the precise types of spec and status while checking the rest. */
export function defineKind<Spec extends ObjectNode, Status extends ObjectNode>(
  kind: Omit<Kind<Spec, Status>, "listKind" | "singular"> & { readonly singular?: string },
): Kind<Spec, Status> {
  return { listKind: `${kind.kind}List`, singular: kind.kind.toLowerCase(), ...kind };
}

export function storageVersion(kind: Kind): string {
  return kind.versions.find((version) => version.storage)?.name ?? kind.versions[0]?.name ?? "v1";
}

/** The schema of the spec in a version, given as it stands in an object's `apiVersion`. */
export function specOf(kind: Kind, apiVersion: unknown): ObjectNode {
  const name = typeof apiVersion === "string" ? apiVersion.slice(apiVersion.indexOf("/") + 1) : "";
  return kind.versions.find((version) => version.name === name)?.spec ?? kind.spec;
}
