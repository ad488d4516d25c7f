/** An object as it is and as a file has it in; what it would be after `kubectl apply` out. */
import { isRecord, parseJson } from "../../lib/index.ts";
import { type KubeObject, kindOf } from "../../model/index.ts";

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Fields that the file does not name any more go where it is known that they came from a file: by kubectl's annotation, or
 * because the object is of the mesh's own kinds, whose spec only files write. Others stay, as a Service's address.
 */
export function applyOver(live: KubeObject, wanted: KubeObject): KubeObject {
  const last = lastOf(live);
  // Lists of the mesh's own kinds are whole: nobody adds to their members.
  const isOwn = kindOf(wanted.apiVersion, wanted.kind) !== undefined;
  const merged = isOwn ? { ...live, ...wanted } : mergeRecords(last ?? {}, live, wanted);
  const { status } = wanted.status === undefined ? live : wanted;
  const { uid, creationTimestamp, resourceVersion, generation, ownerReferences } = live.metadata;
  const kept = { uid, creationTimestamp, resourceVersion, generation, ownerReferences };
  return {
    ...merged,
    apiVersion: wanted.apiVersion,
    kind: wanted.kind,
    metadata: {
      ...mergeRecords(metadataOf(last), live.metadata, wanted.metadata),
      ...defined(kept),
      name: wanted.metadata.name,
    },
    ...(status === undefined ? {} : { status }),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** What the file names wins; what it named last time and does not name now goes; the rest stays. */
function mergeRecords(last: Fields, live: object, wanted: object): Fields {
  const merged = new Map<string, unknown>(Object.entries(live));
  const now = new Map<string, unknown>(Object.entries(wanted));
  for (const [key, before] of Object.entries(last)) if (!now.has(key)) drop(merged, key, before);
  for (const [key, value] of now)
    if (value === null) merged.delete(key);
    else merged.set(key, mergeValues(last[key], merged.get(key), value));
  return Object.fromEntries(merged);
}

/** Of a record, only what was named: others may have added to it. */
function drop(merged: Map<string, unknown>, key: string, before: unknown): void {
  const live = merged.get(key);
  const rest = isRecord(before) && isRecord(live) ? mergeRecords(before, live, {}) : {};
  if (Object.keys(rest).length > 0) merged.set(key, rest);
  else merged.delete(key);
}

function mergeValues(before: unknown, live: unknown, wanted: unknown): unknown {
  if (isRecord(wanted) && isRecord(live)) return mergeRecords(isRecord(before) ? before : {}, live, wanted);
  if (!Array.isArray(wanted) || !Array.isArray(live)) return wanted;
  // Ports and containers keep what the API has added to them; they are known by their names.
  return wanted.map((item: unknown) => {
    const [old, last] = [named(live, item), named(Array.isArray(before) ? before : [], item)];
    return old && isRecord(item) ? mergeRecords(last ?? {}, old, item) : item;
  });
}

function named(list: readonly unknown[], item: unknown): Fields | undefined {
  if (!isRecord(item)) return undefined;
  const sameKeys = (one: unknown): boolean =>
    isRecord(one) && listKeys.some((key) => item[key] !== undefined && one[key] === item[key]);
  const found = list.find(sameKeys);
  return isRecord(found) ? found : undefined;
}

/** What Kubernetes tells members of its lists apart by. */
const listKeys = ["name", "containerPort", "port"] as const;

function lastOf(live: KubeObject): Fields | undefined {
  const text = live.metadata.annotations?.[lastApplied];
  if (text === undefined) return undefined;
  try {
    const value = parseJson(text);
    return isRecord(value) ? value : undefined;
  } catch {
    // Somebody wrote it by hand: then nothing is known of the last time.
    return undefined;
  }
}

const metadataOf = (last: Fields | undefined): Fields => (isRecord(last?.metadata) ? last.metadata : {});

const defined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
