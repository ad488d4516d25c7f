/** Everything the API serves, in; the kinds whose objects can be listed and deleted, out. */
import type { KindRef, KubeClient } from "../kube/index.ts";
import { isRecord } from "../lib/index.ts";

const list = (value: unknown, field: string): readonly Readonly<Record<string, unknown>>[] =>
  isRecord(value) && Array.isArray(value[field]) ? value[field].filter(isRecord) : [];

export async function discoverKinds(client: KubeClient): Promise<readonly KindRef[]> {
  const groups = list(await client.raw("GET", "/apis"), "groups").flatMap((group) => {
    const preferred = isRecord(group.preferredVersion) ? group.preferredVersion.version : undefined;
    return typeof group.name === "string" && typeof preferred === "string"
      ? [{ group: group.name, version: preferred }]
      : [];
  });
  const all = await Promise.all([{ group: "", version: "v1" }, ...groups].map((group) => kindsOf(client, group)));
  return all.flat();
}

async function kindsOf(
  client: KubeClient,
  { group, version }: { group: string; version: string },
): Promise<readonly KindRef[]> {
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const resources = list(await client.raw("GET", path), "resources");
  return resources.flatMap((resource) => {
    const { name, kind, namespaced, verbs } = resource;
    if (typeof name !== "string" || typeof kind !== "string" || name.includes("/")) return [];
    if (!Array.isArray(verbs) || !verbs.includes("delete") || !verbs.includes("list")) return [];
    return [{ group, version, plural: name, kind, namespaced: namespaced === true }];
  });
}
