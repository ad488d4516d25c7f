/** Namespaces: those whose Pods are seen, with what is seen in them, listed and counted. */
import type { MeshReads, NamespaceReads, NamespaceRow } from "../../../read-api/index.ts";
import { seenEffects } from "./effects.ts";
import { ofObject } from "./kind-in-namespace.ts";
import type { Sight } from "./sight.ts";

/** What the viewer sees. */
type Seen = Pick<MeshReads, "proxies" | "services" | "objects">;

export function visibleNamespaces(reads: NamespaceReads, sight: Sight, seen: Seen): NamespaceReads {
  return {
    async namespaces() {
      const all = await reads.namespaces();
      return all.filter(await sight.pods());
    },
    async namespaceRows() {
      const sees = await sight.pods();
      return counted(
        (await reads.namespaceRows()).filter(({ name }) => sees(name)),
        seen,
      );
    },
    async namespace(name, looked) {
      const sees = await sight.pods();
      const found = sees(name) ? await reads.namespace(name, { ...looked, sees }) : undefined;
      if (!found) return undefined;
      const [row = found] = await counted([found], seen);
      return {
        ...row,
        policies: await seenEffects(found.policies, sight),
        serviceList: await sight.seen(found.serviceList, ({ object }) => [ofObject(object)]),
        objectList: await sight.seen(found.objectList, ({ id }) => [ofObject(id)]),
      };
    },
  };
}

async function counted<T extends NamespaceRow>(rows: readonly T[], seen: Seen): Promise<readonly T[]> {
  const by = <R extends { readonly namespace: string }>(all: readonly R[]) =>
    Map.groupBy(all, ({ namespace }) => namespace);
  const [services, proxies] = [by(await seen.services()), by(await seen.proxies())];
  const objects = by(await seen.objects());
  return rows.map((row) => ({
    ...row,
    services: services.get(row.name)?.length ?? 0,
    proxies: proxies.get(row.name)?.length ?? 0,
    objects: objects.get(row.name)?.length ?? 0,
    problems: (objects.get(row.name) ?? []).reduce((sum, { problems }) => sum + problems, 0),
  }));
}
