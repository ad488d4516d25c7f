/** How the rooms are handed raw objects: the collection of one kind, wherever it is watched. */
import type { Collection } from "../collections/index.ts";
import type { KubeObject } from "../model/index.ts";

/** The group tells Istio's Gateway from the Gateway API's; it is empty for the core group. */
export type ObjectsOf = (group: string, kind: string) => Collection<KubeObject>;
