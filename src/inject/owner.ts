/** A Pod in; the object that people know it by out: what made it, or the Pod itself. */
import { readText } from "../lib/index.ts";
import { podOwner } from "../model/index.ts";
import { metadataOf, type Pod } from "./pod.ts";
import type { Owner } from "./templates/input.ts";

export function ownerOfPod(pod: Pod): Owner {
  const metadata = metadataOf(pod);
  const made = podOwner(metadata) ?? { apiVersion: "v1", kind: "Pod", name: readText(metadata.name) };
  return { ...made, namespace: readText(metadata.namespace) };
}
