/** Flags in; the objects that there are, and the change that is proposed to them, out. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { kindRef, kubeKinds, parseObjects } from "../../kube/index.ts";
import { FairleadError, nearest } from "../../lib/index.ts";
import { type KubeObject, kinds, objectName } from "../../model/index.ts";
import type { AccessFlags } from "../cluster-access.ts";
import type { Io } from "../command.ts";
import { readStdin } from "../stdin.ts";
import { inNamespace, objectsOfApi, objectsOfFiles } from "../why/input.ts";
import { type Change, nameOf } from "./proposal.ts";

export interface DiffFlags extends AccessFlags {
  readonly filename: readonly string[];
  readonly delete: readonly string[];
  readonly prune: boolean;
  readonly base: readonly string[];
  readonly namespace: string;
}

export interface DiffInput {
  readonly base: readonly KubeObject[];
  readonly change: Change;
  readonly meshConfig: Readonly<Record<string, unknown>> | undefined;
  readonly notes: readonly string[];
}

export async function readDiffInput(flags: DiffFlags, io: Io): Promise<DiffInput> {
  if (flags.prune && flags.base.length === 0)
    throw new FairleadError("usage", "--prune needs --base", {
      hint: "on an API, name what would be deleted with --delete",
    });
  const isApi = flags.base.length === 0;
  const wanted = (await filesOf(flags.filename, flags.namespace, io.cwd)).map((object) =>
    isApi ? asCreated(object) : object,
  );
  const deleted = await deletedNames(flags, io.cwd);
  const { objects, meshConfig } = isApi
    ? await objectsOfApi(flags, io)
    : await objectsOfFiles(
        flags.base.map((path) => resolve(io.cwd, path)),
        flags.namespace,
      ).then(({ written, meshConfig: own }) => ({ objects: written, meshConfig: own }));
  const names = new Set(objects.map(nameOf));
  const missing = deleted.filter((name) => !names.has(name));
  if (missing.length > 0)
    throw new FairleadError("not-found", `there is no ${missing.map((name) => name.replace("/", " ")).join(", no ")}`, {
      hint: hintFor(missing[0] ?? "", [...names]),
    });
  const kept = new Set(wanted.map(nameOf));
  const pruned = flags.prune ? [...names].filter((name) => !kept.has(name)) : [];
  return {
    base: objects,
    change: { wanted, deleted: new Set([...deleted, ...pruned]) },
    meshConfig,
    notes: isApi ? workloadNotes(wanted) : [],
  };
}

function hintFor(missing: string, names: readonly string[]): string {
  const close = nearest(missing, names);
  return close === undefined ? "-n names the namespace" : `did you mean ${close.replace("/", " ")}?`;
}

/** What an API adds by itself; a status in a file is no part of what is applied. */
function asCreated({ status: _status, ...object }: KubeObject): KubeObject {
  const creationTimestamp = object.metadata.creationTimestamp ?? new Date().toISOString();
  return {
    ...object,
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { ...object.metadata, creationTimestamp },
  };
}

const workloads: ReadonlySet<string> = new Set(["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"]);

const workloadNotes = (objects: readonly KubeObject[]): readonly string[] =>
  objects
    .filter(({ kind }) => workloads.has(kind))
    .map((object) => `${nameOf(object).replace("/", " ")}: Pods that it would start or stop are not counted`);

async function filesOf(paths: readonly string[], namespace: string, cwd: string): Promise<readonly KubeObject[]> {
  const files = paths.filter((path) => path !== "-").map((path) => resolve(cwd, path));
  const piped = paths.includes("-")
    ? parseObjects("standard input", await readStdin()).map(({ object }) => inNamespace(object, namespace))
    : [];
  const { written } = files.length > 0 ? await objectsOfFiles(files, namespace) : { written: [] };
  const all = [...written, ...piped];
  if (paths.length > 0 && all.length === 0)
    throw new FairleadError("invalid", `${paths.join(", ")}: there is no object`, {
      hint: "files end in .yaml, .yml or .json",
    });
  return all;
}

/** Objects of a file, or `TYPE/NAME` as kubectl writes it. */
async function deletedNames({ delete: words, namespace }: DiffFlags, cwd: string): Promise<readonly string[]> {
  const names = words.map(async (word) => {
    const isFile = await stat(resolve(cwd, word)).then(
      () => true,
      () => false,
    );
    if (isFile) return (await filesOf([word], namespace, cwd)).map(nameOf);
    const [, type = "", name = ""] = /^([^/]+)\/([^/]+)$/.exec(word) ?? [];
    if (name === "")
      throw new FairleadError("usage", `${JSON.stringify(word)} is neither a file nor TYPE/NAME`, {
        hint: "write it as virtualservice/reviews, or vs/reviews",
      });
    const kind = findKind(type);
    return [objectName(kind.kind, { name, namespace: kind.namespaced ? namespace : undefined })];
  });
  return (await Promise.all(names)).flat();
}

const shortNames: Readonly<Record<string, string>> = {
  ns: "namespaces",
  svc: "services",
  po: "pods",
  cm: "configmaps",
};

function findKind(type: string): { readonly kind: string; readonly namespaced: boolean } {
  const wanted = type.toLowerCase();
  const [plain = ""] = wanted.split(".");
  for (const kind of kinds)
    if ([kind.plural, kind.singular, kind.kind.toLowerCase(), ...kind.shortNames].includes(plain))
      if (plain === wanted || wanted === `${plain}.${kind.group}`) return kindRef(kind);
  const own = Object.values(kubeKinds).find(
    ({ plural, kind }) => plural === (shortNames[plain] ?? plain) || kind.toLowerCase() === plain,
  );
  if (own) return own;
  throw new FairleadError("usage", `there is no type ${JSON.stringify(type)}`, {
    hint: "a type is written as virtualservice, vs, service, …",
  });
}
