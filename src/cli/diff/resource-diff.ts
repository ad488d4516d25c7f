/** Resources that differ in; each of their fields before and after out, for those who want to see Envoy's own words. */
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../lib/index.ts";
import { bytesOf, type Resource, type ResourceType } from "../../model/index.ts";
import { type JsonResource, shownResource } from "../../render/index.ts";
import type { StateChange } from "./states.ts";

export interface ResourceDiff {
  readonly type: ResourceType;
  readonly name: string;
  /** That have this difference. */
  readonly proxies: number;
  /** `- PATH: VALUE` and `+ PATH: VALUE`. */
  readonly lines: readonly string[];
}

type Print = (type: ResourceType, bytes: Uint8Array) => JsonResource;

export function resourceDiffs({ groups }: StateChange, print: Print): readonly ResourceDiff[] {
  const found = new Map<string, ResourceDiff>();
  for (const { differences, proxies } of groups)
    for (const { type, name, before, after } of differences) {
      const key = `${type} ${name} ${before?.hash} ${after?.hash}`;
      const known = found.get(key);
      const json = (resource: Resource | undefined): unknown =>
        resource && print(type, shownResource(type, bytesOf(resource)));
      const lines = known?.lines ?? [...fieldLines(json(before), json(after), "")];
      found.set(key, { type, name, proxies: (known?.proxies ?? 0) + proxies.length, lines });
    }
  return [...found.values()];
}

/** `- PATH: VALUE` and `+ PATH: VALUE` of all that differs. */
export function* fieldLines(before: unknown, after: unknown, path: string): Generator<string> {
  if (isDeepStrictEqual(before, after)) return;
  const [old, now] = [membersOf(before), membersOf(after)];
  if (!old || !now) {
    if (before !== undefined) yield `- ${path || "."}: ${JSON.stringify(before)}`;
    if (after !== undefined) yield `+ ${path || "."}: ${JSON.stringify(after)}`;
    return;
  }
  for (const key of new Set([...old.keys(), ...now.keys()]))
    yield* fieldLines(
      old.get(key),
      now.get(key),
      key.startsWith("[") || path === "" ? `${path}${key}` : `${path}.${key}`,
    );
}

/** Members of lists are found by their names where they have such, so that one more does not move all others. */
function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (Array.isArray(value)) {
    const names = value.map((item: unknown) =>
      isRecord(item) && typeof item.name === "string" ? item.name : undefined,
    );
    const isNamed = names.every((name) => name !== undefined) && new Set(names).size === names.length;
    return new Map(value.map((item: unknown, i) => [`[${isNamed ? names[i] : i}]`, item]));
  }
  return isRecord(value) ? new Map(Object.entries(value)) : undefined;
}
