/** An object before and after in, the fields that must not have changed out. */
import type { KubeObject } from "../model/index.ts";
import { at } from "./access.ts";
import { equalJson } from "./equal.ts";
import type { FieldError } from "./failure.ts";
import type { ApiKind } from "./kind.ts";

const fields: ReadonlyMap<string, readonly string[]> = new Map([
  ["/Secret", ["type"]],
  ["rbac.authorization.k8s.io/RoleBinding", ["roleRef"]],
  ["rbac.authorization.k8s.io/ClusterRoleBinding", ["roleRef"]],
  ["discovery.k8s.io/EndpointSlice", ["addressType"]],
  [
    "apiextensions.k8s.io/CustomResourceDefinition",
    ["spec.group", "spec.scope", "spec.names.kind", "spec.names.plural"],
  ],
  ["apps/Deployment", ["spec.selector"]],
  ["apps/StatefulSet", ["spec.selector", "spec.serviceName"]],
  ["apps/DaemonSet", ["spec.selector"]],
  ["apps/ReplicaSet", ["spec.selector"]],
  ["batch/Job", ["spec.selector", "spec.template"]],
]);

export function immutableErrors(
  kind: ApiKind,
  next: KubeObject,
  before: KubeObject | undefined,
): readonly FieldError[] {
  if (before === undefined) return [];
  const changed = (fields.get(`${kind.group}/${kind.kind}`) ?? []).filter(
    (field) => !equalJson(at(next, ...field.split(".")), at(before, ...field.split("."))),
  );
  const frozen =
    before.immutable === true &&
    ["data", "binaryData", "immutable"].find((field) => !equalJson(next[field], before[field]));
  const sealed: readonly FieldError[] = frozen
    ? [
        {
          path: frozen,
          reason: "FieldValueForbidden",
          message: "Forbidden: field is immutable when `immutable` is set",
        },
      ]
    : [];
  return [
    ...sealed,
    ...changed.map((path) => ({
      path,
      reason: "FieldValueInvalid",
      message: `Invalid value: ${JSON.stringify(at(next, ...path.split(".")))}: field is immutable`,
    })),
  ];
}
