/** A role or binding in, what Kubernetes finds wrong with it out. */
import type { KubeObject } from "../model/index.ts";
import { listAt, textAt, textsAt } from "./access.ts";
import type { FieldError } from "./failure.ts";
import type { ApiKind } from "./kind.ts";

export const rbacGroup = "rbac.authorization.k8s.io";
const dnsLabels = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const required = (path: string, why: string): FieldError => ({
  path,
  reason: "FieldValueRequired",
  message: `Required value: ${why}`,
});
const wrong = (path: string, value: unknown, why: string): FieldError => ({
  path,
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
});
const unsupported = (path: string, value: string, known: readonly string[]): FieldError => ({
  path,
  reason: "FieldValueNotSupported",
  message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${known.map((k) => `"${k}"`).join(", ")}`,
});

export function rbacErrors(kind: ApiKind, object: KubeObject): readonly FieldError[] {
  if (!kind.kind.endsWith("Binding"))
    return listAt(object, "rules").flatMap((rule, i) => ruleErrors(rule, `rules[${i}]`, kind.namespaced));
  return [
    ...roleRefErrors(object, kind.namespaced ? ["Role", "ClusterRole"] : ["ClusterRole"]),
    ...listAt(object, "subjects").flatMap((subject, i) => subjectErrors(subject, `subjects[${i}]`, kind.namespaced)),
  ];
}

function ruleErrors(rule: unknown, path: string, namespaced: boolean): readonly FieldError[] {
  const has = (name: string): boolean => textsAt(rule, name).length > 0;
  const out: FieldError[] = has("verbs") ? [] : [required(`${path}.verbs`, "verbs must contain at least one value")];
  if (!has("nonResourceURLs")) {
    if (!has("apiGroups")) out.push(required(`${path}.apiGroups`, "resource rules must supply at least one api group"));
    if (!has("resources")) out.push(required(`${path}.resources`, "resource rules must supply at least one resource"));
    return out;
  }
  const urls = textsAt(rule, "nonResourceURLs");
  if (namespaced)
    out.push(wrong(`${path}.nonResourceURLs`, urls, "namespaced rules cannot apply to non-resource URLs"));
  if (has("apiGroups") || has("resources") || has("resourceNames"))
    out.push(
      wrong(`${path}.nonResourceURLs`, urls, "rules cannot apply to both regular resources and non-resource URLs"),
    );
  return out;
}

function roleRefErrors(object: KubeObject, kinds: readonly string[]): readonly FieldError[] {
  const ref = (name: string): string => textAt(object, "roleRef", name);
  const out: FieldError[] = [];
  if (ref("apiGroup") !== rbacGroup) out.push(unsupported("roleRef.apiGroup", ref("apiGroup"), [rbacGroup]));
  if (!kinds.includes(ref("kind"))) out.push(unsupported("roleRef.kind", ref("kind"), kinds));
  const name = ref("name");
  if (name === "") out.push(required("roleRef.name", ""));
  else if (name === "." || name === ".." || /[/%]/.test(name))
    out.push(wrong("roleRef.name", name, "may not be '.', '..' or contain '/' or '%'"));
  return out;
}

/** The namespace of a binding is not taken for that of an account when it is written, only when it is read. */
function subjectErrors(subject: unknown, path: string, namespaced: boolean): readonly FieldError[] {
  const at = (name: string): string => textAt(subject, name);
  const out: FieldError[] = at("name") === "" ? [required(`${path}.name`, "")] : [];
  switch (at("kind")) {
    case "ServiceAccount":
      if (at("name") !== "" && !dnsLabels.test(at("name")))
        out.push(
          wrong(
            `${path}.name`,
            at("name"),
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
          ),
        );
      if (at("apiGroup") !== "") out.push(unsupported(`${path}.apiGroup`, at("apiGroup"), [""]));
      if (!namespaced && at("namespace") === "") out.push(required(`${path}.namespace`, ""));
      break;
    case "User":
    case "Group":
      if (at("apiGroup") !== rbacGroup) out.push(unsupported(`${path}.apiGroup`, at("apiGroup"), [rbacGroup]));
      break;
    default:
      out.push(unsupported(`${path}.kind`, at("kind"), ["ServiceAccount", "User", "Group"]));
  }
  return out;
}
