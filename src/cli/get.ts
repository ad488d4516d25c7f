/** `fairlead get`: shows objects, for a machine without kubectl; columns as the API itself gives them. */
import type { Command } from "commander";
import { collectionPath, createKubeClient, type KubeClient, objectPath } from "../kube/index.ts";
import { FairleadError, isRecord, printable, sortBy } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { clusterAccess } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { printApiTable, tableAccept } from "./get/table.ts";
import { watchRows } from "./get/watch.ts";
import type { LiveFlags } from "./live-plane.ts";
import { findKind, type NamedKind } from "./objects.ts";
import { customColumns } from "./output/custom-columns.ts";
import { parseJsonPath } from "./output/json-path.ts";
import { safeLines } from "./output.ts";
import { printJson, printSortedYaml } from "./print.ts";

interface GetFlags extends LiveFlags {
  readonly namespace: string;
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly output: string;
  readonly affects?: boolean;
  readonly watch?: boolean;
}

/** Objects of one kind that were asked for: all, or some by name. */
interface Question {
  readonly kind: NamedKind;
  readonly names: readonly string[];
  readonly namespace: string | undefined;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("get")
    .summary("Show objects of the API")
    .argument("<type>", "resource types, such as pods or svc,vs; or type/name")
    .argument("[name...]", "some objects; all where absent")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("-n, --namespace <namespace>", "namespace of the objects", "default")
    .option("-A, --all-namespaces", "over all namespaces")
    .option("-l, --selector <labels>", "objects with these labels")
    .option(
      "-o, --output <format>",
      "how to print: table, wide, name, json, yaml, jsonpath=TEMPLATE or custom-columns=SPEC",
      "table",
    )
    .option("-w, --watch", "go on with a row for each change")
    .option("--affects", "the proxies, and the parts of what they are sent, that the objects reach")
    .option("--address <addr>", "monitoring port of a control plane, which is asked what they reach")
    .option("-i, --istioNamespace <namespace>", "where the control plane is", "istio-system")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead get vs reviews --affects\n  fairlead get pods -A -o wide\n  fairlead get pods -w\n  fairlead get pods -o custom-columns=NAME:.metadata.name,IP:.status.podIP\n  fairlead get vs reviews -o yaml\n  fairlead get pods -o jsonpath='{.items[*].status.podIP}'\n",
    )
    .action(async (type: string, names: readonly string[], flags: GetFlags) => exit(await get(type, names, flags, io)));
}

async function get(type: string, names: readonly string[], flags: GetFlags, io: Io): Promise<number> {
  const show = flags.affects === true ? affectsPrinter(flags, io) : printerOf(flags);
  const client = createKubeClient(await clusterAccess(flags, io));
  try {
    const questions = await parseQuestions(client, type, names, flags);
    if (flags.watch === true) return await watch(client, questions, flags, io);
    const text = await show(client, questions, flags);
    if (text !== "") io.out(text);
    else if (names.length === 0)
      io.err(flags.allNamespaces ? "No resources found\n" : `No resources found in ${flags.namespace} namespace.\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof FairleadError) || error.code !== "not-found") throw error;
    io.err(`fairlead: ${error.message}\n`);
    return 1;
  } finally {
    client.close();
  }
}

async function watch(client: KubeClient, questions: readonly Question[], flags: GetFlags, io: Io): Promise<number> {
  const [question, ...more] = questions;
  if (!question || more.length > 0 || (flags.output !== "table" && flags.output !== "wide"))
    throw new FairleadError("usage", "-w shows one type, as a table", { hint: "such as fairlead get pods -w -o wide" });
  const options = {
    wide: flags.output === "wide",
    withNamespace: question.kind.namespaced && flags.allNamespaces === true,
    prefix: "",
  };
  await watchRows(client, { ...question, selector: flags.selector }, options, io);
  return 0;
}

async function parseQuestions(
  client: KubeClient,
  type: string,
  names: readonly string[],
  flags: GetFlags,
): Promise<readonly Question[]> {
  const [typeName = "", name] = type.split("/");
  const kinds = await Promise.all(typeName.split(",").map((one) => findKind(client, one)));
  return kinds.map((kind) => ({
    kind,
    names: name === undefined ? names : [name, ...names],
    namespace: kind.namespaced && !flags.allNamespaces ? flags.namespace : undefined,
  }));
}

type Show = (client: KubeClient, questions: readonly Question[], flags: GetFlags) => Promise<string>;

function printerOf({ output }: GetFlags): Show {
  if (output === "table" || output === "wide") return showTables;
  if (output === "name") return showNames;
  if (output === "json") return showData((data) => printJson(sortKeys(data), 4));
  if (output === "yaml") return showData(printSortedYaml);
  if (output.startsWith("custom-columns="))
    return showData(safely(customColumns(output.slice("custom-columns=".length))));
  if (output.startsWith("jsonpath=")) return showData(safely(parseJsonPath(output.slice("jsonpath=".length))));
  throw new FairleadError("usage", `-o ${output} is not known`, {
    hint: "table, wide, name, json, yaml, jsonpath=TEMPLATE and custom-columns=HEADER:.path are",
  });
}

const safely =
  (print: (data: unknown) => string) =>
  (data: unknown): string =>
    safeLines(print(data));

/** As a table, or as data. */
function affectsPrinter(flags: GetFlags, io: Io): Show {
  if (!["table", "wide", "json", "yaml"].includes(flags.output))
    throw new FairleadError("usage", `--affects cannot be printed as ${flags.output}`, {
      hint: "table, json and yaml are",
    });
  return async (client, questions) => {
    const asked = (
      await Promise.all(
        questions.map(async (question) =>
          (await objectsOf(client, question, flags)).map((object) => ({ ...object, kind: question.kind.kind })),
        ),
      )
    ).flat();
    const { affectedBy, affectedTable } = await import("./get/affects.ts");
    const parts = await affectedBy(asked, flags, io);
    if (flags.output === "json") return printJson(parts, 4);
    if (flags.output === "yaml") return printSortedYaml(parts);
    if (parts.length === 0 && asked.length > 0) return "No proxy is sent anything because of it.\n";
    return parts.length === 0 ? "" : affectedTable(parts, asked.length > 1);
  };
}

async function showTables(client: KubeClient, questions: readonly Question[], flags: GetFlags): Promise<string> {
  const texts: string[] = [];
  for (const { kind, names, namespace } of questions) {
    const options = {
      wide: flags.output === "wide",
      withNamespace: kind.namespaced && flags.allNamespaces === true,
      prefix: questions.length > 1 ? prefixOf(kind) : "",
    };
    const query = flags.selector === undefined ? "" : `?labelSelector=${encodeURIComponent(flags.selector)}`;
    const paths =
      names.length === 0
        ? [`${collectionPath(kind, namespace)}${query}`]
        : names.map((name) => objectPath(kind, { name, namespace }));
    const answers = await Promise.all(paths.map((path) => client.raw("GET", path, undefined, tableAccept)));
    const text = printApiTable(answers.reduce(joinTables), options);
    if (text === undefined) throw new FairleadError("invalid", `the API gives no table of ${kind.plural}`);
    if (text !== "") texts.push(text);
  }
  return texts.join("\n");
}

/** Several objects by name are several answers, but one table. */
function joinTables(first: unknown, next: unknown): unknown {
  if (!isRecord(first) || !isRecord(next) || !Array.isArray(first.rows) || !Array.isArray(next.rows)) return first;
  return { ...first, rows: [...first.rows, ...next.rows] };
}

async function showNames(client: KubeClient, questions: readonly Question[], flags: GetFlags): Promise<string> {
  const lines = await Promise.all(
    questions.map(async (question) =>
      (await objectsOf(client, question, flags)).map(
        (object) => `${prefixOf(question.kind)}${printable(object.metadata.name)}\n`,
      ),
    ),
  );
  return lines.flat().join("");
}

function prefixOf({ kind, group }: NamedKind): string {
  return `${kind.toLowerCase()}${group === "" ? "" : `.${group}`}/`;
}

function showData(print: (data: unknown) => string): Show {
  return async (client, questions, flags) => {
    const found = (await Promise.all(questions.map((question) => objectsOf(client, question, flags)))).flat();
    const [first, ...others] = found;
    const one = questions.length === 1 && questions[0]?.names.length === 1 && others.length === 0;
    const list = { apiVersion: "v1", items: found, kind: "List", metadata: { resourceVersion: "" } };
    return print(one ? first : list);
  };
}

async function objectsOf(
  client: KubeClient,
  { kind, names, namespace }: Question,
  flags: GetFlags,
): Promise<readonly KubeObject[]> {
  if (names.length > 0) return Promise.all(names.map((name) => client.get(kind, { name, namespace })));
  return (await client.list(kind, { namespace, labelSelector: flags.selector })).items;
}

function sortKeys(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(sortKeys);
  if (!isRecord(data)) return data;
  return Object.fromEntries(sortBy(Object.entries(data), ([key]) => key).map(([key, value]) => [key, sortKeys(value)]));
}
