/** Resources that differ in; each of their fields before and after out, for those who want to see Envoy's own words. */
import { fieldLines } from "../../lib/index.ts";
import { bytesOf, type Resource, type ResourceType } from "../../model/index.ts";
import type { DiffResource } from "../../read-api/index.ts";
import { type JsonResource, shownResource } from "../../render/index.ts";
import type { StateChange } from "./states.ts";

type Print = (type: ResourceType, bytes: Uint8Array) => JsonResource;

export function resourceDiffs({ groups }: StateChange, print: Print): readonly DiffResource[] {
  const found = new Map<string, DiffResource>();
  for (const { differences, proxies } of groups)
    for (const { type, name, before, after } of differences) {
      const key = `${type} ${name} ${before?.hash} ${after?.hash}`;
      const known = found.get(key);
      const json = (resource: Resource | undefined): unknown =>
        resource && print(type, shownResource(type, bytesOf(resource)));
      const lines = known?.lines ?? [...fieldLines(json(before), json(after))];
      found.set(key, { type, name, proxies: (known?.proxies ?? 0) + proxies.length, lines });
    }
  return [...found.values()];
}
