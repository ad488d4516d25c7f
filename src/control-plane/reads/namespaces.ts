/** The stages and rates in; rows and pages of namespaces out. */
import type {
  Effect,
  Looked,
  NamespaceDetail,
  NamespaceRow,
  ObjectRow,
  ProxyRow,
  ServiceRow,
} from "../../read-api/index.ts";
import type { Stages } from "../stages.ts";
import type { Traffic } from "../traffic/index.ts";
import { policiesOf } from "./policies.ts";
import { ofNamespace, readSeen } from "./seen.ts";

/** What there is in all namespaces, at one moment. */
export interface Inventory {
  readonly names: readonly string[];
  readonly services: readonly ServiceRow[];
  readonly proxies: readonly ProxyRow[];
  readonly objects: readonly ObjectRow[];
}

type Grouped = Readonly<Record<"services" | "proxies" | "objects", ReadonlyMap<string, readonly unknown[]>>>;

/** Of one namespace; all are in the lists, which have a filter. */
const maxListed = 200;

export function namespaceRows(mesh: Stages["mesh"], inventory: Inventory): readonly NamespaceRow[] {
  const problems = new Map<string, number>();
  for (const { namespace, problems: more } of inventory.objects)
    problems.set(namespace, (problems.get(namespace) ?? 0) + more);
  const by = <T extends { readonly namespace: string }>(rows: readonly T[]) =>
    Map.groupBy(rows, ({ namespace }) => namespace);
  const grouped: Grouped = {
    services: by(inventory.services),
    proxies: by(inventory.proxies),
    objects: by(inventory.objects),
  };
  const count = (what: keyof Grouped, name: string): number => grouped[what].get(name)?.length ?? 0;
  return inventory.names.toSorted().map((name) => ({
    name,
    services: count("services", name),
    proxies: count("proxies", name),
    objects: count("objects", name),
    problems: problems.get(name) ?? 0,
    mutualTls: mesh.peerAuthentication(name, {}).mode,
  }));
}

export async function readNamespace(
  mesh: Stages["mesh"],
  traffic: Pick<Traffic, "view" | "everywhere">,
  inventory: Inventory,
  name: string,
  looked: Looked,
): Promise<NamespaceDetail | undefined> {
  if (!inventory.names.includes(name)) return undefined;
  const own = <T extends { readonly namespace: string }>(rows: readonly T[]): readonly T[] =>
    rows.filter(({ namespace }) => namespace === name);
  const [services, proxies, objects] = [own(inventory.services), own(inventory.proxies), own(inventory.objects)];
  const [row] = namespaceRows(mesh, { names: [name], services, proxies, objects });
  if (!row) return undefined;
  const policies: readonly Effect[] = policiesOf(mesh, name, {});
  return {
    ...row,
    policies,
    ...(await readSeen(traffic, looked, ofNamespace(name))),
    serviceList: services.slice(0, maxListed),
    proxyList: proxies.slice(0, maxListed),
    objectList: objects.slice(0, maxListed),
  };
}
