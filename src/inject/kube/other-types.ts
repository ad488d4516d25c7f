/** Types of workloads that the generated schemas do not have: ReplicationController, and OpenShift's DeploymentConfig. */
import { type Keep, kubeType, type ObjectType, type ScalarType, type ValueType } from "./types.ts";

type Part = readonly [name: string, value: ValueType, keep?: Keep];

function objectType(name: string, parts: readonly Part[]): ObjectType {
  return { name, fields: new Map(parts.map(([field, value, keep = "plain"]) => [field, { value, keep }])) };
}

const scalar = (kind: ScalarType): ValueType => ({ kind: "scalar", scalar: kind });
const text = scalar("string");
const integer = scalar("integer");
const list = (items: ValueType): ValueType => ({ kind: "list", items });
const texts: ValueType = { kind: "map", values: text };
const object = (type: () => ObjectType): ValueType => ({ kind: "object", type });
const core = (name: string): ValueType => object(() => kubeType(`io.k8s.api.core.v1.${name}`));
const podTemplate = object(() => kubeType("io.k8s.api.apps.v1.PodTemplateSpec"));
const meta = object(() => kubeType("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));

const top = (spec: ObjectType, status: ObjectType, name: string): ObjectType =>
  objectType(name, [
    ["kind", text],
    ["apiVersion", text],
    ["metadata", meta, "struct"],
    ["spec", object(() => spec), "struct"],
    ["status", object(() => status), "struct"],
  ]);

const condition = objectType("Condition", [
  ["type", text, "printed"],
  ["status", text, "printed"],
  ["lastUpdateTime", scalar("time"), "plain"],
  ["lastTransitionTime", scalar("time"), "struct"],
  ["reason", text],
  ["message", text],
]);

const replicationController = top(
  objectType("ReplicationControllerSpec", [
    ["replicas", integer, "pointer"],
    ["minReadySeconds", integer],
    ["selector", texts],
    ["template", podTemplate],
  ]),
  objectType("ReplicationControllerStatus", [
    ["replicas", integer, "printed"],
    ["fullyLabeledReplicas", integer],
    ["readyReplicas", integer],
    ["availableReplicas", integer],
    ["observedGeneration", integer],
    ["conditions", list(object(() => condition))],
  ]),
  "ReplicationController",
);
export const replicationControllerType = (): ObjectType => replicationController;

const reference = objectType("ObjectReference", [
  ["kind", text],
  ["namespace", text],
  ["name", text],
  ["uid", text],
  ["apiVersion", text],
  ["resourceVersion", text],
  ["fieldPath", text],
]);

const hook = objectType("LifecycleHook", [
  ["failurePolicy", text, "printed"],
  [
    "execNewPod",
    object(() =>
      objectType("ExecNewPodHook", [
        ["command", list(text), "printed"],
        ["env", list(core("EnvVar"))],
        ["containerName", text, "printed"],
        ["volumes", list(text)],
      ]),
    ),
  ],
  [
    "tagImages",
    list(
      object(() =>
        objectType("TagImageHook", [
          ["containerName", text, "printed"],
          ["to", object(() => reference), "struct"],
        ]),
      ),
    ),
  ],
]);

const strategy = objectType("DeploymentStrategy", [
  ["type", text],
  [
    "customParams",
    object(() =>
      objectType("CustomDeploymentStrategyParams", [
        ["image", text],
        ["environment", list(core("EnvVar"))],
        ["command", list(text)],
      ]),
    ),
  ],
  [
    "recreateParams",
    object(() =>
      objectType("RecreateDeploymentStrategyParams", [
        ["timeoutSeconds", integer, "pointer"],
        ["pre", object(() => hook)],
        ["mid", object(() => hook)],
        ["post", object(() => hook)],
      ]),
    ),
  ],
  [
    "rollingParams",
    object(() =>
      objectType("RollingDeploymentStrategyParams", [
        ["updatePeriodSeconds", integer, "pointer"],
        ["intervalSeconds", integer, "pointer"],
        ["timeoutSeconds", integer, "pointer"],
        ["maxUnavailable", scalar("int-or-string"), "pointer"],
        ["maxSurge", scalar("int-or-string"), "pointer"],
        ["pre", object(() => hook)],
        ["post", object(() => hook)],
      ]),
    ),
  ],
  ["resources", core("ResourceRequirements"), "struct"],
  ["labels", texts],
  ["annotations", texts],
  ["activeDeadlineSeconds", integer, "pointer"],
]);

const trigger = objectType("DeploymentTriggerPolicy", [
  ["type", text],
  [
    "imageChangeParams",
    object(() =>
      objectType("DeploymentTriggerImageChangeParams", [
        ["automatic", scalar("boolean")],
        ["containerNames", list(text)],
        ["from", object(() => reference), "struct"],
        ["lastTriggeredImage", text],
      ]),
    ),
  ],
]);

const deploymentConfig = top(
  objectType("DeploymentConfigSpec", [
    ["strategy", object(() => strategy), "struct"],
    ["minReadySeconds", integer],
    ["triggers", list(object(() => trigger)), "printed"],
    ["replicas", integer, "printed"],
    ["revisionHistoryLimit", integer, "pointer"],
    ["test", scalar("boolean"), "printed"],
    ["paused", scalar("boolean")],
    ["selector", texts],
    ["template", podTemplate],
  ]),
  objectType("DeploymentConfigStatus", [
    ["latestVersion", integer, "printed"],
    ["observedGeneration", integer, "printed"],
    ["replicas", integer, "printed"],
    ["updatedReplicas", integer, "printed"],
    ["availableReplicas", integer, "printed"],
    ["unavailableReplicas", integer, "printed"],
    ["details", scalar("any")],
    ["conditions", list(object(() => condition))],
    ["readyReplicas", integer],
  ]),
  "DeploymentConfig",
);
export const deploymentConfigType = (): ObjectType => deploymentConfig;
