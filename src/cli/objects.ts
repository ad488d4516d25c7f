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
export async function findKind(client: Discoverer, name: string): Promise<NamedKind> {
  const wanted = name.toLowerCase();
  const [plural = "", ...rest] = wanted.split(".");
  const group = rest.join(".");
  const isMeant = (kind: NamedKind): boolean =>
    (group === "" || kind.group === group) &&
    [kind.plural, kind.singular, kind.kind.toLowerCase(), ...kind.shortNames].includes(plural);
  const versions = await allVersions(client);
  const preferred = await kindsOf(
    client,
    versions.filter(({ isPreferred }) => isPreferred),
  );
  const usual = preferred.kinds.find(isMeant);
  if (usual) return usual;
  const { kinds, faults } = await kindsOf(
    client,
    versions.filter((one) => !one.isPreferred && (group === "" || one.group === group)),
  );
  const other = kinds.find(isMeant);
  if (other) return other;
  const fault = faults.find(({ version }) => group === "" || version.startsWith(`${group}/`));
  if (fault) {
    const { version, error } = fault;
    const words = `no resource type "${name}" was found, and ${version} does not say what it has: ${error.message}`;
    throw new FairleadError(error.code, words, { cause: error });
  }
  throw new FairleadError("not-found", `the API has no resource type "${name}"`, {
    hint: "kubectl api-resources lists them",
  });
}

export interface AllKinds {
  readonly kinds: readonly NamedKind[];
  /** Versions (`group/version`) that did not say what they have. */
  readonly faults: readonly VersionFault[];
}

interface VersionFault {
  readonly version: string;
  readonly error: FairleadError;
}

type Discoverer = Pick<KubeClient, "raw">;

/** Each in the version that its group prefers, or in the first that has it: EnvoyFilter is not in `v1`. */
export const allKinds = async (client: Discoverer): Promise<AllKinds> => kindsOf(client, await allVersions(client));

interface Version {
  readonly group: string;
  readonly version: string;
  readonly isPreferred: boolean;
}

/** Of each group the one first that it prefers. */
async function allVersions(client: Discoverer): Promise<readonly Version[]> {
  const groups = list(await client.raw("GET", "/apis"), "groups").flatMap((entry) => {
    const preferred = isRecord(entry.preferredVersion) ? entry.preferredVersion.version : undefined;
    const versions = [preferred, ...list(entry, "versions").map(({ version }) => version)];
    const { name: group } = entry;
    const texts = [...new Set(versions)].filter((version) => typeof version === "string");
    return typeof group === "string" ? texts.map((version, at) => ({ group, version, isPreferred: at === 0 })) : [];
  });
  return [{ group: "", version: "v1", isPreferred: true }, ...groups];
}

async function kindsOf(client: Discoverer, versions: readonly Version[]): Promise<AllKinds> {
  const all = await Promise.all(versions.map((one) => kindsOfVersion(client, one)));
  const first = new Map<string, NamedKind>();
  for (const kind of all.flatMap(({ kinds }) => kinds)) {
    const name = `${kind.plural}.${kind.group}`;
    first.set(name, first.get(name) ?? kind);
  }
  return { kinds: [...first.values()], faults: all.flatMap(({ faults }) => faults) };
}

/** One version may be served by another server than the rest: as for kubectl, they do without one that is not preferred. */
async function kindsOfVersion(client: Discoverer, { group, version, isPreferred }: Version): Promise<AllKinds> {
  try {
    return { kinds: await resourcesOf(client, group, version), faults: [] };
  } catch (error) {
    if (isPreferred || !(error instanceof FairleadError)) throw error;
    return { kinds: [], faults: [{ version: `${group}/${version}`, error }] };
  }
}

async function resourcesOf(client: Discoverer, group: string, version: string): Promise<readonly NamedKind[]> {
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
