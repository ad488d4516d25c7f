/**
 * What several control planes tell each other while a root is rotated: whom each still waits for, and whom of the others'
 * it has issued a certificate to, because a proxy may come for its certificate to another one than it has its stream
 * with. It goes through one ConfigMap, a member for each.
 */
import type { Holder } from "../../ca/index.ts";
import type { Collection } from "../../collections/index.ts";
import { type KubeClient, kubeKinds } from "../../kube/index.ts";
import { isRecord, parseJson, readRecord, readText, readTexts } from "../../lib/index.ts";
import { formatIdentity, type KubeObject, parseIdentity } from "../../model/index.ts";
import { rotationName } from "./mesh-trust.ts";

const { configMaps } = kubeKinds;

export interface RotationReport {
  /** Which rotation, phase and epoch it is about. */
  readonly step: string;
  readonly at: Date;
  /** Proxies as holders in text, at most so many; the next are named when these are done. */
  readonly waiting: readonly string[];
  /** How many there are. */
  readonly count: number;
  /** Of the others' that wait, whom this one knows to be done. */
  readonly done: readonly string[];
}

export const maxNamed = 200;

/** A replica that says nothing for so long is gone, and its proxies are with others: keepalive ends their streams after 40 s. */
const staleMs = 60_000;

/** By replica; of those that live. */
export function reportsIn(map: KubeObject | undefined, now: Date): ReadonlyMap<string, RotationReport> {
  const data = readRecord(map?.data);
  return new Map(
    Object.entries(data).flatMap(([replica, text]) => {
      const report = typeof text === "string" ? parseReport(text) : undefined;
      return report && now.getTime() - report.at.getTime() < staleMs ? [[replica, report] as const] : [];
    }),
  );
}

/** The same report again is written only to say that its writer lives. */
export async function writeReport(
  client: KubeClient,
  maps: Collection<KubeObject>,
  place: { readonly namespace: string; readonly replica: string },
  report: RotationReport,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, replica } = place;
  const found = maps.get(`${namespace}/${rotationName}`);
  const data = readRecord(found?.data);
  const before = typeof data[replica] === "string" ? parseReport(data[replica]) : undefined;
  if (before && sameReport(before, report) && report.at.getTime() - before.at.getTime() < staleMs / 4) return;
  const kept = Object.entries(data).filter(([, text]) => {
    const other = typeof text === "string" ? parseReport(text) : undefined;
    return other && report.at.getTime() - other.at.getTime() < staleMs;
  });
  const fresh = { ...Object.fromEntries(kept), [replica]: JSON.stringify(report) };
  if (found) await client.update(configMaps, { ...found, data: fresh }, { signal });
  else {
    const metadata = { name: rotationName, namespace };
    await client.create(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata, data: fresh }, { signal });
  }
}

export function formatHolder({ identity, pod, address }: Holder): string {
  return JSON.stringify([formatIdentity(identity), pod ?? "", address]);
}

export function parseHolder(text: string): Holder | undefined {
  const [uri, pod, address] = readTexts(readJson(text));
  const identity = uri === undefined ? undefined : parseIdentity(uri);
  return identity && address !== undefined ? { identity, pod: pod === "" ? undefined : pod, address } : undefined;
}

function sameReport(a: RotationReport, b: RotationReport): boolean {
  const text = ({ step, waiting, count, done }: RotationReport): string => JSON.stringify([step, waiting, count, done]);
  return text(a) === text(b);
}

/** Undefined for what another program wrote there. */
function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function parseReport(text: string): RotationReport | undefined {
  const value = readJson(text);
  if (!isRecord(value)) return undefined;
  const at = new Date(readText(value["at"]));
  const count = value["count"];
  if (Number.isNaN(at.getTime()) || typeof count !== "number") return undefined;
  return {
    step: readText(value["step"]),
    at,
    waiting: readTexts(value["waiting"]),
    count,
    done: readTexts(value["done"]),
  };
}
