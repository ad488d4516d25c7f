// Writes src/gen/kube-schemas.js: the shapes of Kubernetes' own kinds as OpenAPI definitions, read from the model type
// maps and declarations of the pinned @kubernetes/client-node. Plain JavaScript: it runs before anything is built.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const models = join(root, "node_modules/@kubernetes/client-node/dist/gen/models");

/** Field numbers of the protobuf form, in which some clients send objects; `+2(…)` are fields of an inlined message. */
const numbers = JSON.parse(readFileSync(new URL("kube-field-numbers.json", import.meta.url), "utf8"));

/** The kinds served, by the package that Kubernetes' own definitions have; what they use is found from them. */
const roots = {
  "apimachinery.pkg.apis.meta": [
    "V1ObjectMeta",
    "V1ListMeta",
    "V1Status",
    "V1DeleteOptions",
    "V1LabelSelector",
    "V1Condition",
  ],
  "api.core": [
    "V1Namespace",
    "V1Service",
    "V1Endpoints",
    "V1Pod",
    "V1Node",
    "V1Secret",
    "V1ConfigMap",
    "V1ServiceAccount",
    "CoreV1Event",
  ],
  "api.discovery": ["V1EndpointSlice"],
  "api.coordination": ["V1Lease"],
  "api.networking": ["V1Ingress", "V1IngressClass", "V1NetworkPolicy"],
  "api.rbac": ["V1Role", "V1RoleBinding", "V1ClusterRole", "V1ClusterRoleBinding"],
  "api.authorization": [
    "V1SubjectAccessReview",
    "V1SelfSubjectAccessReview",
    "V1LocalSubjectAccessReview",
    "V1SelfSubjectRulesReview",
  ],
  "api.authentication": ["V1TokenReview", "AuthenticationV1TokenRequest", "V1SelfSubjectReview"],
  "api.admissionregistration": [
    "V1MutatingWebhookConfiguration",
    "V1ValidatingWebhookConfiguration",
    "V1ValidatingAdmissionPolicy",
    "V1ValidatingAdmissionPolicyBinding",
  ],
  "apiextensions-apiserver.pkg.apis.apiextensions": ["V1CustomResourceDefinition"],
  "api.apps": ["V1Deployment", "V1ReplicaSet", "V1StatefulSet", "V1DaemonSet"],
  "api.batch": ["V1Job", "V1CronJob"],
  "api.autoscaling": ["V1HorizontalPodAutoscaler", "V2HorizontalPodAutoscaler"],
  "api.policy": ["V1PodDisruptionBudget"],
  "api.storage": ["V1CSIDriver"],
  "api.certificates": ["V1CertificateSigningRequest"],
};

/** How lists are merged, which the package's type maps do not say: model and field -> patch key, keys of the list as a map. */
const listKeys = {
  "V1ObjectMeta.ownerReferences": ["uid"],
  "V1ServiceSpec.ports": ["port", "protocol"],
  "V1ServiceAccount.secrets": ["name"],
  "V1PodSpec.containers": ["name"],
  "V1PodSpec.initContainers": ["name"],
  "V1PodSpec.ephemeralContainers": ["name"],
  "V1PodSpec.volumes": ["name"],
  "V1PodSpec.imagePullSecrets": ["name"],
  "V1PodSpec.hostAliases": ["ip"],
  "V1PodSpec.resourceClaims": ["name"],
  "V1PodSpec.schedulingGates": ["name"],
  "V1PodSpec.topologySpreadConstraints": ["topologyKey", "whenUnsatisfiable"],
  "V1Container.env": ["name"],
  "V1Container.ports": ["containerPort", "protocol"],
  "V1Container.volumeMounts": ["mountPath"],
  "V1Container.volumeDevices": ["devicePath"],
  "V1EphemeralContainer.env": ["name"],
  "V1EphemeralContainer.volumeMounts": ["mountPath"],
  "V1PodStatus.conditions": ["type"],
  "V1PodStatus.podIPs": ["ip"],
  "V1NodeStatus.conditions": ["type"],
  "V1NodeStatus.addresses": ["type"],
  "V1NamespaceStatus.conditions": ["type"],
  "V1ServiceStatus.conditions": ["type"],
  "V1DeploymentStatus.conditions": ["type"],
  "V1ReplicaSetStatus.conditions": ["type"],
  "V1StatefulSetStatus.conditions": ["type"],
  "V1DaemonSetStatus.conditions": ["type"],
  "V1PodDisruptionBudgetStatus.conditions": ["type"],
  "V2HorizontalPodAutoscalerStatus.conditions": ["type"],
  "V1CustomResourceDefinitionStatus.conditions": ["type"],
  "V1CertificateSigningRequestStatus.conditions": ["type"],
  "V1MutatingWebhookConfiguration.webhooks": ["name"],
  "V1ValidatingWebhookConfiguration.webhooks": ["name"],
  "V1MutatingWebhook.matchConditions": ["name"],
  "V1ValidatingWebhook.matchConditions": ["name"],
};
const listSets = new Set(["V1ObjectMeta.finalizers", "V1NodeSpec.podCIDRs"]);
/** Merged as a set by a strategic patch although server-side apply treats them as one value. */
const atomicMaps = new Set([
  "V1LabelSelector",
  "V1NodeSelector",
  "V1LocalObjectReference",
  "V1ObjectReference",
  "V1SecretKeySelector",
  "V1ConfigMapKeySelector",
]);
/** Lists that Kubernetes replaces whole on apply, as it does with every list that is not named above. */
const quantities = new Set([
  "limits",
  "requests",
  "capacity",
  "allocatable",
  "overhead",
  "allocatedResources",
  "sizeLimit",
  "divisor",
  "averageValue",
]);

/** The wire form is a string map whose values may be written as numbers. */
function quantitySchema(mapped) {
  const one = { type: "string", "x-quantity": true };
  return mapped ? { type: "object", additionalProperties: one } : one;
}

function split(model) {
  const match = /^(?:[A-Z][a-z]+)?(V\d+(?:(?:alpha|beta)\d+)?)([A-Z].*)$/.exec(model);
  if (!match) throw new Error(`cannot read the model name ${model}`);
  const prefixed =
    /^(Core|Admissionregistration|Apiextensions|Authentication|Discovery|Rbac|Events|Storage|Resource|Flowcontrol|Apiregistration)V/.test(
      model,
    );
  return {
    version: match[1].toLowerCase(),
    name: prefixed ? match[2] : model.replace(/^V\d+(?:(?:alpha|beta)\d+)?/, ""),
  };
}

/** Descriptions and required fields, which only the declarations have. */
function readDeclaration(model) {
  const text = readFileSync(join(models, `${model}.d.ts`), "utf8");
  const clean = (comment) =>
    comment
      .replace(/^\s*\*\s?/gm, "")
      .replace(/\\(['"`])/g, "$1")
      .replace(/\s+/g, " ")
      .trim();
  const about = /\/\*\*\n([^/]*?(?:[^*]\/[^/]*?)*?)\*\/\nexport declare class/.exec(text.slice(text.indexOf("*/") + 2));
  const fields = new Map();
  for (const match of text.matchAll(/\/\*\*\n((?:\s+\*(?!\/)[^\n]*\n)+)\s+\*\/\n\s+'([^']+)'(\??):/g))
    fields.set(match[2], { description: clean(match[1]), required: match[3] === "" });
  for (const match of text.matchAll(/^ {4}'([^']+)'(\??):/gm))
    if (!fields.has(match[1])) fields.set(match[1], { description: "", required: match[2] === "" });
  return { description: about ? clean(about[1]) : "", fields };
}

export async function generateKubeSchemas() {
  const definitions = {};
  const names = new Map();
  const queue = [];
  const nameOf = (model, pkg) => {
    let name = names.get(model);
    if (name === undefined) {
      const { version, name: short } = split(model);
      name = `io.k8s.${pkg}.${version}.${short}`;
      names.set(model, name);
      queue.push([model, pkg]);
    }
    return name;
  };
  for (const [pkg, list] of Object.entries(roots)) for (const model of list) nameOf(model, pkg);

  const schemaOf = (type, format, field, pkg) => {
    const list = /^(?:Array|Set)<(.*)>$/.exec(type);
    if (list) return { type: "array", items: schemaOf(list[1], format, field, pkg) };
    const map = /^\{ \[key: string\]: (.*); \}$/.exec(type);
    if (map && quantities.has(field)) return quantitySchema(true);
    if (map) return { type: "object", additionalProperties: schemaOf(map[1], format, field, pkg) };
    switch (type) {
      case "string":
        return quantities.has(field)
          ? quantitySchema(false)
          : { type: "string", ...(format === "byte" ? { format } : {}) };
      case "number":
        return { type: format === "double" ? "number" : "integer", format: format || "int32" };
      case "boolean":
        return { type: "boolean" };
      case "Date":
      case "V1MicroTime":
        return { type: "string", format: "date-time" };
      case "IntOrString":
        return { "x-kubernetes-int-or-string": true };
      case "any":
        return { "x-kubernetes-preserve-unknown-fields": true };
      default:
        return { $ref: nameOf(type, pkg) };
    }
  };

  while (queue.length > 0) {
    const [model, pkg] = queue.shift();
    const { [model]: type } = await import(join(models, `${model}.js`));
    const declared = readDeclaration(model);
    const properties = {};
    const required = [];
    for (const attribute of type.attributeTypeMap) {
      const about = declared.fields.get(attribute.name);
      const schema = schemaOf(attribute.type, attribute.format, attribute.baseName, pkg);
      if (about?.description) schema.description = about.description;
      if (about?.required) required.push(attribute.baseName);
      const id = `${model}.${attribute.name}`;
      if (listKeys[id]) {
        schema["x-kubernetes-list-type"] = "map";
        schema["x-kubernetes-list-map-keys"] = listKeys[id];
        schema["x-kubernetes-patch-strategy"] = id === "V1PodSpec.volumes" ? "merge,retainKeys" : "merge";
        schema["x-kubernetes-patch-merge-key"] = listKeys[id][0];
      } else if (listSets.has(id)) {
        schema["x-kubernetes-list-type"] = "set";
        schema["x-kubernetes-patch-strategy"] = "merge";
      } else if (schema.type === "array") schema["x-kubernetes-list-type"] = "atomic";
      properties[attribute.baseName] = schema;
    }
    if (model === "V1DeploymentSpec") properties.strategy["x-kubernetes-patch-strategy"] = "retainKeys";
    const wire = numbers[names.get(model)];
    definitions[names.get(model)] = {
      type: "object",
      ...(wire ? { "x-numbers": wire } : {}),
      ...(declared.description ? { description: declared.description } : {}),
      properties,
      ...(required.length > 0 ? { required } : {}),
      ...(atomicMaps.has(model) ? { "x-kubernetes-map-type": "atomic" } : {}),
    };
  }
  // Their wire forms are not what their models say.
  definitions[names.get("V1ObjectMeta")].properties.managedFields = {
    type: "array",
    items: { "x-kubernetes-preserve-unknown-fields": true },
    "x-kubernetes-list-type": "atomic",
  };

  const out = join(root, "src/gen");
  mkdirSync(out, { recursive: true });
  // A string that is parsed when it is needed: half the start-up cost of the same as a literal.
  writeFileSync(
    join(out, "kube-schemas.js"),
    `export const kubeSchemas = ${JSON.stringify(JSON.stringify(definitions))};\n`,
  );
  writeFileSync(
    join(out, "kube-schemas.d.ts"),
    "/** OpenAPI definitions by name, as JSON. */\nexport declare const kubeSchemas: string;\n",
  );
  return Object.keys(definitions).length;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(`${await generateKubeSchemas()} definitions`);
