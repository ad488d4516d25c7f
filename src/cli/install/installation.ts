/** Flags and files in; the objects of an installation out, with the values that it is made of. */
import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import type { Command } from "commander";
import {
  completeValues,
  customResourceDefinitions,
  installObjects,
  namespaceObject,
  readGivenValues,
} from "../../install/index.ts";
import { FairleadError, parseYaml, readRecord } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { collect, type Io } from "../command.ts";
import { printSortedYaml } from "../print.ts";

export interface ValueFlags {
  readonly filename: readonly string[];
  readonly set: readonly string[];
  readonly profile?: string;
  readonly revision?: string;
  readonly istioNamespace?: string;
}

/** What the user asked for, so that an upgrade can ask for it again. */
export interface Wish {
  readonly profile: string;
  readonly values: readonly unknown[];
}

export interface Installation {
  readonly namespace: string;
  readonly revision: string;
  readonly wish: Wish;
  readonly definitions: readonly KubeObject[];
  /** Without namespace and definitions, in the order of applying them. */
  readonly objects: readonly KubeObject[];
}

/** Flags that say what is installed, on every command that asks for it. */
export function valueOptions(command: Command): Command {
  return command
    .option("-f, --filename <file>", "values, or an IstioOperator; may be given again", collect, [])
    .option("-s, --set <name=value>", "one value; may be given again", collect, [])
    .option("--profile <name>", "default, minimal, demo, stable or openshift")
    .option("-r, --revision <name>", "name of this control plane where several run side by side")
    .option("-i, --istioNamespace <namespace>", "namespace of the control plane");
}

/** `before` is what an earlier installation was made of. */
export async function readInstallation(flags: ValueFlags, io: Io, before?: Wish): Promise<Installation> {
  const files = await Promise.all(flags.filename.map((file) => readYamlFile(file, io)));
  const given = readGivenValues(files, flags.set);
  const own = {
    ...(flags.revision === undefined ? {} : { revision: flags.revision }),
    ...(flags.istioNamespace === undefined ? {} : { global: { istioNamespace: flags.istioNamespace } }),
  };
  const wish: Wish = {
    profile: flags.profile ?? given.profile ?? before?.profile ?? "default",
    values: [...(before?.values ?? []), ...given.values, own].filter((layer) => Object.keys(Object(layer)).length > 0),
  };
  const values = completeValues(wish.profile, wish.values);
  const namespace = String(readRecord(values.global).istioNamespace);
  const withDefinitions = readRecord(values.base).enableIstioConfigCRDs === true;
  return {
    namespace,
    revision: String(values.revision) || "default",
    wish,
    definitions: withDefinitions ? customResourceDefinitions() : [],
    objects: installObjects({ namespace, values, printYaml: printSortedYaml }),
  };
}

/** Everything, as a file has it. */
export const allObjects = ({ namespace, definitions, objects }: Installation): readonly KubeObject[] => [
  namespaceObject(namespace),
  ...definitions,
  ...objects,
];

async function readYamlFile(file: string, io: Io): Promise<unknown> {
  const text = await readFile(inFolder(file, io), "utf8").catch((cause: unknown) => {
    throw new FairleadError("not-found", `cannot read ${file}`, { cause });
  });
  try {
    return parseYaml(text)[0] ?? {};
  } catch (cause) {
    const [why = ""] = FairleadError.from(cause).message.split("\n");
    throw new FairleadError("invalid", `${file}: ${why}`, { hint: "a file of values is one YAML document", cause });
  }
}

export const inFolder = (file: string, io: Io): string => (isAbsolute(file) ? file : join(io.cwd, file));
