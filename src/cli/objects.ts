/** Objects of any kind in; applied to, read from or deleted from the API out, by what its discovery says. */
import type { KindRef, KubeClient } from "../kube/index.ts";
import { FairleadError, isRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";

const fieldManager = "fairlead";

/** Server-side apply, taking over fields: the same verdicts (unknown fields, schema, CEL, webhook) as kubectl gets. */
export async function applyObject(client: KubeClient, object: KubeObject): Promise<KubeObject> {
  const kind = await kindOf(client, object);
  const namespace = kind.namespaced ? (object.metadata.namespace ?? "default") : undefined;
  const { name } = object.metadata;
  const body = { ...object, metadata: { ...object.metadata, ...(namespace === undefined ? {} : { namespace }) } };
  return client.patch(kind, { name, namespace }, "apply", body, {
    fieldManager,
    force: true,
    fieldValidation: "Strict",
  });
}

export async function deleteObject(client: KubeClient, object: KubeObject): Promise<void> {
  const kind = await kindOf(client, object);
  await client.delete(kind, {
    name: object.metadata.name,
    namespace: kind.namespaced ? (object.metadata.namespace ?? "default") : undefined,
  });
}

async function kindOf(client: KubeClient, object: KubeObject): Promise<KindRef> {
  const slash = object.apiVersion.indexOf("/");
  const [group, version] =
    slash < 0 ? ["", object.apiVersion] : [object.apiVersion.slice(0, slash), object.apiVersion.slice(slash + 1)];
  const resources = await resourcesOf(client, group, version);
  const found = resources.find((resource) => resource.kind === object.kind);
  if (!found)
    throw new FairleadError("not-found", `the API does not serve ${object.kind} of ${object.apiVersion}`, {
      hint: "check apiVersion and kind",
    });
  return found;
}

export interface NamedKind extends KindRef {
  readonly shortNames: readonly string[];
  readonly singular: string;
}

/** A name as a person types it (`vs`, `virtualservice`, `pods`, `deployments.apps`) in; the kind out. */
export async function findKind(client: KubeClient, name: string): Promise<NamedKind> {
  const wanted = name.toLowerCase();
  const [plural = "", ...rest] = wanted.split(".");
  const group = rest.join(".");
  for (const kind of await allKinds(client)) {
    if (group !== "" && kind.group !== group) continue;
    if ([kind.plural, kind.singular, kind.kind.toLowerCase(), ...kind.shortNames].includes(plural)) return kind;
  }
  throw new FairleadError("not-found", `the API has no resource type "${name}"`, {
    hint: "kubectl api-resources lists them",
  });
}

export async function allKinds(client: KubeClient): Promise<readonly NamedKind[]> {
  const answer = await client.raw("GET", "/apis");
  const groups = list(answer, "groups").flatMap((entry) => {
    const preferred = isRecord(entry.preferredVersion) ? entry.preferredVersion.version : undefined;
    return typeof entry.name === "string" && typeof preferred === "string" ? [[entry.name, preferred] as const] : [];
  });
  const all = await Promise.all(
    [["", "v1"] as const, ...groups].map(([group, version]) => resourcesOf(client, group, version)),
  );
  return all.flat();
}

async function resourcesOf(client: KubeClient, group: string, version: string): Promise<readonly NamedKind[]> {
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  return list(await client.raw("GET", path), "resources").flatMap((resource) => {
    const { name, kind, namespaced, singularName, shortNames } = resource;
    if (typeof name !== "string" || typeof kind !== "string" || name.includes("/")) return [];
    return [
      {
        group,
        version,
        plural: name,
        kind,
        namespaced: namespaced === true,
        singular: typeof singularName === "string" ? singularName : "",
        shortNames: Array.isArray(shortNames) ? shortNames.map(String) : [],
      },
    ];
  });
}

function list(value: unknown, field: string): readonly Readonly<Record<string, unknown>>[] {
  return isRecord(value) && Array.isArray(value[field]) ? value[field].filter(isRecord) : [];
}
