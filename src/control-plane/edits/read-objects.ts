/** YAML that somebody has written on the page in; the objects that they want, each with its kind, out. */
import type { ApplyQuestion } from "../../dashboard/index.ts";
import { type KindRef, kindRef } from "../../kube/index.ts";
import { FairleadError, isRecord, objectLimits, parseYaml } from "../../lib/index.ts";
import { type KubeObject, kindOf, objectName } from "../../model/index.ts";

const maxObjects = 50;
/** No API takes more of one object. */
const maxValues = 65_536;

export interface Wish {
  readonly kind: KindRef;
  readonly object: KubeObject;
  readonly name: string;
}

export function readObjects({ objects, resourceVersion }: ApplyQuestion): readonly Wish[] {
  const documents = parseYaml(objects, objectLimits).filter((document) => document !== null && document !== undefined);
  if (documents.length === 0) throw new FairleadError("invalid", "there is no object in it");
  if (documents.length > maxObjects)
    throw new FairleadError("invalid", `more than ${maxObjects} objects are not applied from here`, {
      hint: "use kubectl apply",
    });
  if (hasMoreValues(documents, maxValues))
    throw new FairleadError("too-large", `more than ${maxValues} fields and items are not applied from here`, {
      hint: "use kubectl apply",
    });
  const wishes = documents.map(readObject);
  const [only] = wishes;
  if (resourceVersion === undefined || !only || wishes.length > 1) return wishes;
  return [{ ...only, object: { ...only.object, metadata: { ...only.object.metadata, resourceVersion } } }];
}

/** What the API keeps of an object is not written back. */
function readObject(document: unknown): Wish {
  const { apiVersion, kind, metadata, status: _, ...content } = isRecord(document) ? document : {};
  const name = isRecord(metadata) ? metadata.name : undefined;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof name !== "string" || !isRecord(metadata))
    throw new FairleadError("invalid", "an object needs apiVersion, kind and metadata.name");
  const known = kindOf(apiVersion, kind);
  if (!known)
    throw new FairleadError("invalid", `${kind} of ${apiVersion} is not edited here`, {
      hint: "objects of Istio's and the Gateway API's kinds are; use kubectl apply for others",
    });
  const ref = { ...kindRef(known), version: apiVersion.slice(apiVersion.indexOf("/") + 1) };
  const { namespace = "default", labels, annotations } = metadata;
  const own = {
    ...{ name, ...(ref.namespaced ? { namespace: String(namespace) } : {}) },
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  const object = { ...content, apiVersion, kind, metadata: own } as KubeObject;
  return { kind: ref, object, name: objectName(kind, object.metadata) };
}

function hasMoreValues(documents: readonly unknown[], most: number): boolean {
  let left = most;
  const open: unknown[] = [documents];
  for (let value = open.pop(); value !== undefined && left >= 0; value = open.pop()) {
    if (typeof value !== "object" || value === null) continue;
    const inner: readonly unknown[] = Object.values(value);
    left -= inner.length;
    for (const one of inner) if (typeof one === "object" && one !== null) open.push(one);
  }
  return left < 0;
}
