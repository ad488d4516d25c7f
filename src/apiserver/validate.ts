/** An object of any kind in, what is wrong with its metadata and, for Kubernetes' own kinds, its fields out. */
import type { KubeObject } from "../model/index.ts";
import { at, type Fields, listAt, numberAt, recordAt, textAt } from "./access.ts";
import { patternsError } from "./definition-patterns.ts";
import type { FieldError } from "./failure.ts";
import type { ApiKind } from "./kind.ts";
import { signingRequestErrors } from "./signing-requests.ts";
import { rbacErrors, rbacGroup } from "./validate-rbac.ts";

const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const dns1035Label = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const labelName = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const configKey = /^[-._a-zA-Z0-9]{1,253}$/;
const maxAnnotationBytes = 256 * 1024;

function invalidValue(path: string, value: unknown, why: string): FieldError {
  return { path, reason: "FieldValueInvalid", message: `Invalid value: ${JSON.stringify(value)}: ${why}` };
}

function requiredValue(path: string, why = ""): FieldError {
  return { path, reason: "FieldValueRequired", message: why === "" ? "Required value" : `Required value: ${why}` };
}

export function validateObject(kind: ApiKind, object: KubeObject): readonly FieldError[] {
  return [
    ...nameErrors(kind, object.metadata.name),
    ...labelErrors(object),
    ...annotationErrors(object),
    ...kindErrors(kind, object),
  ];
}

function nameErrors(kind: ApiKind, name: string): readonly FieldError[] {
  const path = "metadata.name";
  if (name === "") return [requiredValue(path, "name or generateName is required")];
  // RBAC names are path segments: colons are common in them.
  if (kind.group === rbacGroup)
    return name === "." || name === ".." || /[/%]/.test(name)
      ? [invalidValue(path, name, "may not be '.', '..' or contain '/' or '%'")]
      : [];
  if (kind.group === "" && kind.kind === "Namespace" && !dnsLabel.test(name))
    return [
      invalidValue(
        path,
        name,
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
      ),
    ];
  if (kind.group === "" && kind.kind === "Service" && !dns1035Label.test(name))
    return [
      invalidValue(
        path,
        name,
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
      ),
    ];
  if (name.length > 253 || !dnsSubdomain.test(name))
    return [
      invalidValue(
        path,
        name,
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
      ),
    ];
  return [];
}

function qualifiedName(name: string): boolean {
  const at = name.indexOf("/");
  return at < 0 ? labelName.test(name) : dnsSubdomain.test(name.slice(0, at)) && labelName.test(name.slice(at + 1));
}

function labelErrors(object: KubeObject): readonly FieldError[] {
  return Object.entries(object.metadata.labels ?? {}).flatMap(([key, value]) => [
    ...(qualifiedName(key)
      ? []
      : [
          invalidValue(
            "metadata.labels",
            key,
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
          ),
        ]),
    ...(labelValue.test(value)
      ? []
      : [
          invalidValue(
            "metadata.labels",
            value,
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
          ),
        ]),
  ]);
}

function annotationErrors(object: KubeObject): readonly FieldError[] {
  const annotations = Object.entries(object.metadata.annotations ?? {});
  const bytes = annotations.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  const size = {
    path: "metadata.annotations",
    reason: "FieldValueTooLong",
    message: `Too long: may not be more than ${maxAnnotationBytes} bytes`,
  };
  return [
    ...annotations
      .filter(([key]) => !qualifiedName(key.toLowerCase()))
      .map(([key]) =>
        invalidValue(
          "metadata.annotations",
          key,
          "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        ),
      ),
    ...(bytes > maxAnnotationBytes ? [size] : []),
  ];
}

function kindErrors(kind: ApiKind, object: KubeObject): readonly FieldError[] {
  if (kind.group === rbacGroup) return rbacErrors(kind, object);
  switch (`${kind.group}/${kind.kind}`) {
    case "/Service":
      return serviceErrors(recordAt(object, "spec"));
    case "/ConfigMap":
    case "/Secret":
      return Object.keys(recordAt(object, "data"))
        .filter((key) => !configKey.test(key))
        .map((key) =>
          invalidValue(
            `data[${key}]`,
            key,
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
          ),
        );
    case "apiextensions.k8s.io/CustomResourceDefinition":
      return definitionErrors(object);
    case "certificates.k8s.io/CertificateSigningRequest":
      return signingRequestErrors(object);
    case "/Pod":
      return listAt(object, "spec", "containers").length === 0
        ? [requiredValue("spec.containers")]
        : containerErrors(object);
    default:
      return [];
  }
}

function definitionErrors(object: KubeObject): readonly FieldError[] {
  const [group, plural] = [textAt(object, "spec", "group"), textAt(object, "spec", "names", "plural")];
  const versions = listAt(object, "spec", "versions");
  const stored = versions.filter((version) => at(version, "storage") === true).length;
  const wrong = (path: string, value: unknown, why: string): readonly FieldError[] => [invalidValue(path, value, why)];
  const patterns = patternsError(versions);
  return [
    ...(patterns === undefined ? [] : wrong("spec.versions", "", patterns)),
    ...(object.metadata.name === `${plural}.${group}`
      ? []
      : wrong("metadata.name", object.metadata.name, 'must be spec.names.plural+"."+spec.group')),
    ...(stored === 1 ? [] : wrong("spec.versions", stored, "must have exactly one version marked as storage version")),
    ...versions.flatMap((version, i) =>
      at(version, "schema", "openAPIV3Schema") === undefined
        ? [requiredValue(`spec.versions[${i}].schema.openAPIV3Schema`, "schemas are required")]
        : [],
    ),
  ];
}

function containerErrors(object: KubeObject): readonly FieldError[] {
  return listAt(object, "spec", "containers").flatMap((container, i) => {
    const name = textAt(container, "name");
    return dnsLabel.test(name)
      ? []
      : [
          invalidValue(
            `spec.containers[${i}].name`,
            name,
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
          ),
        ];
  });
}

const serviceTypes = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

function serviceErrors(spec: Fields): readonly FieldError[] {
  const out: FieldError[] = [];
  const type = textAt(spec, "type");
  const ports = listAt(spec, "ports");
  if (!serviceTypes.includes(type))
    out.push({
      path: "spec.type",
      reason: "FieldValueNotSupported",
      message: `Unsupported value: ${JSON.stringify(type)}: supported values: ${serviceTypes.map((t) => `"${t}"`).join(", ")}`,
    });
  if (type === "ExternalName" && textAt(spec, "externalName") === "") out.push(requiredValue("spec.externalName"));
  if (ports.length === 0 && type !== "ExternalName" && textAt(spec, "clusterIP") !== "None")
    out.push(requiredValue("spec.ports"));
  const seen = new Set<string>();
  ports.forEach((port, i) => {
    out.push(...portErrors(port, `spec.ports[${i}]`, ports.length > 1));
    const name = textAt(port, "name");
    if (name !== "" && seen.has(name))
      out.push({ path: `spec.ports[${i}].name`, reason: "FieldValueDuplicate", message: `Duplicate value: "${name}"` });
    seen.add(name);
  });
  return out;
}

function portErrors(port: unknown, path: string, several: boolean): readonly FieldError[] {
  const number = numberAt(port, "port") ?? 0;
  const name = textAt(port, "name");
  return [
    ...(number < 1 || number > 65535
      ? [invalidValue(`${path}.port`, number, "must be between 1 and 65535, inclusive")]
      : []),
    ...(several && name === "" ? [requiredValue(`${path}.name`)] : []),
    ...(name !== "" && !dnsLabel.test(name)
      ? [
          invalidValue(
            `${path}.name`,
            name,
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
          ),
        ]
      : []),
  ];
}
