/** A stored object in, the object as a request's version of the kind shows it out. */
import type { KubeObject } from "../model/index.ts";
import { convertAutoscaler } from "./convert-autoscaler.ts";
import { type ApiKind, apiVersionOf } from "./kind.ts";

/** CustomResourceDefinitions convert by "None": between versions only the apiVersion differs. Of Kubernetes' own one has two. */
export function represent(kind: ApiKind, object: KubeObject): KubeObject {
  const apiVersion = apiVersionOf(kind);
  if (object.apiVersion === apiVersion) return object;
  return convertAutoscaler(object, apiVersion) ?? { ...object, apiVersion };
}

/** The form in which an answer is wanted: plain, as a Table, or metadata only. */
export type Form = "plain" | "table" | "metadata";

/** Of the Accept header's entries the first that can be served decides. */
export function wantedForm(accept: string | undefined): Form {
  for (const entry of (accept ?? "").split(",")) {
    const parameters = entry.split(";").map((part) => part.trim());
    const type = parameters[0];
    if (type !== "application/json" && type !== "*/*" && type !== "application/*" && type !== "") continue;
    const as = parameters.find((part) => part.startsWith("as="))?.slice(3);
    if (as === undefined) return "plain";
    if (!parameters.includes("v=v1")) continue;
    if (as === "Table") return "table";
    if (as === "PartialObjectMetadata" || as === "PartialObjectMetadataList") return "metadata";
  }
  return "plain";
}

export function metadataOnly(object: KubeObject): KubeObject {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata };
}
