/** What Kubernetes' own controllers write at once and nobody else would here: a kind's object in, the same with it out. */
import type { KubeObject } from "../model/index.ts";
import { listAt, recordAt, textAt, textsAt } from "./access.ts";
import { storageVersion } from "./custom-kind.ts";
import type { ApiKind } from "./kind.ts";
import { timestamp } from "./metadata.ts";

export function establish(kind: ApiKind, object: KubeObject, now: Date): KubeObject {
  switch (`${kind.group}/${kind.kind}`) {
    case "apiextensions.k8s.io/CustomResourceDefinition":
      return establishDefinition(object, now);
    case "/Namespace":
      return activeNamespace(object);
    case "/Pod":
    case "/Service":
      return initialStatus(object);
    default:
      return object;
  }
}

/** A definition is served as soon as it is stored, so it says so. */
function establishDefinition(object: KubeObject, now: Date): KubeObject {
  const known = listAt(object, "status", "conditions");
  const condition = (type: string, reason: string, message: string): unknown =>
    known.find((c) => textAt(c, "type") === type) ?? {
      type,
      status: "True",
      lastTransitionTime: timestamp(now),
      reason,
      message,
    };
  const versions = new Set([...textsAt(object, "status", "storedVersions"), storageVersion(object)]);
  return {
    ...object,
    status: {
      conditions: [
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
      ],
      acceptedNames: recordAt(object, "spec", "names"),
      storedVersions: [...versions],
    },
  };
}

function activeNamespace(object: KubeObject): KubeObject {
  const labels = { ...object.metadata.labels, "kubernetes.io/metadata.name": object.metadata.name };
  const status = { phase: "Active", ...recordAt(object, "status") };
  return { ...object, metadata: { ...object.metadata, labels }, status };
}

function initialStatus(object: KubeObject): KubeObject {
  if (object.status !== undefined) return object;
  return {
    ...object,
    status: object.kind === "Service" ? { loadBalancer: {} } : { phase: "Pending", qosClass: "BestEffort" },
  };
}
