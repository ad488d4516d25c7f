/** Flags in; the objects that there are, and the change that is proposed to them, out. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { asCreated, type Change, checkDeleted, nameOf } from "../../control-plane/index.ts";
import { inNamespace, kindRef, kubeKinds, parseObjects } from "../../kube/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { type KubeObject, kinds, objectName } from "../../model/index.ts";
import type { AccessFlags } from "../cluster-access.ts";
import type { Io } from "../command.ts";
import { readStdin } from "../stdin.ts";
import { objectsOfApi, objectsOfFiles } from "../why/input.ts";

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
}

export interface WrittenChange {
  readonly wanted: readonly KubeObject[];
  /** By `Kind/namespace/name`. */
  readonly deleted: readonly string[];
  readonly notes: readonly string[];
}

/** What would be applied and deleted, before anything is asked. */
export async function readChange(flags: DiffFlags, io: Io): Promise<WrittenChange> {
  if (flags.prune && flags.base.length === 0)
    throw new FairleadError("usage", "--prune needs --base", {
      hint: "on an API, name what would be deleted with --delete",
    });
  const wanted = await filesOf(flags.filename, flags.namespace, io.cwd);
  const deleted = await deletedNames(flags, io.cwd);
  return { wanted, deleted, notes: flags.base.length === 0 ? workloadNotes(wanted) : [] };
}

/** The objects that there are, with the change to them. */
export async function readBase({ wanted, deleted }: WrittenChange, flags: DiffFlags, io: Io): Promise<DiffInput> {
  const isApi = flags.base.length === 0;
  const { objects, meshConfig } = isApi
    ? await objectsOfApi(flags, io)
    : await objectsOfFiles(
        flags.base.map((path) => resolve(io.cwd, path)),
        flags.namespace,
      ).then(({ written, meshConfig: own }) => ({ objects: written, meshConfig: own }));
  const names = new Set(objects.map(nameOf));
  checkDeleted(deleted, names);
  const kept = new Set(wanted.map(nameOf));
  const pruned = flags.prune ? [...names].filter((name) => !kept.has(name)) : [];
  return {
    base: objects,
    change: { wanted: isApi ? wanted.map(asCreated) : wanted, deleted: new Set([...deleted, ...pruned]) },
    meshConfig,
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
