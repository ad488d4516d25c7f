/** An object that was measured in; the head of its metrics out. */
import type { KubeObject } from "../../model/index.ts";
import { type ApiKind, apiVersionOf } from "../kind.ts";

export function measured(kind: ApiKind, { metadata }: KubeObject, now: Date, windowMs: number): KubeObject {
  const { name, namespace, labels } = metadata;
  const timestamp = now.toISOString().replace(/\.\d+Z$/, "Z");
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: {
      name,
      ...(namespace ? { namespace } : {}),
      ...(labels ? { labels } : {}),
      creationTimestamp: timestamp,
    },
    timestamp,
    window: `${(windowMs / 1000).toFixed(3)}s`,
  };
}
