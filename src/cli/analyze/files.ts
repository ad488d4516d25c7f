/** Files and folders as named on the command line in; their objects, each with where it stands, out. */
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import {
  compareText,
  FairleadError,
  isRecord,
  parseYaml,
  readText,
  type YamlLines,
  yamlLines,
} from "../../lib/index.ts";
import type { Io } from "../command.ts";

export interface FileObject {
  readonly raw: Readonly<Record<string, unknown>>;
  readonly file: string;
  /** The line of a field; of the object itself where the field is not known. */
  line(path: string | undefined): number;
}

export interface ReadFiles {
  readonly names: readonly string[];
  readonly objects: readonly FileObject[];
  /** What could not be read, one line each. */
  readonly faults: readonly string[];
}

const extensions = [".json", ".yaml", ".yml"];

export async function readFiles(paths: readonly string[], io: Io): Promise<ReadFiles> {
  const names: string[] = [];
  for (const path of paths) names.push(...(path === "-" ? [path] : await filesOf(path, io)));
  const objects: FileObject[] = [];
  const faults: string[] = [];
  for (const name of names) {
    const text = name === "-" ? await readStdin() : await readFile(name, "utf8");
    try {
      objects.push(...objectsOf(name, text, faults));
    } catch (error) {
      faults.push(`${name}: ${FairleadError.from(error).message}`);
    }
  }
  return { names, objects, faults };
}

async function filesOf(path: string, io: Io): Promise<readonly string[]> {
  const info = await stat(path).catch((cause: unknown) => {
    throw new FairleadError("not-found", `stat ${path}: no such file or directory`, { cause });
  });
  if (info.isDirectory()) {
    const entries = (await readdir(path)).sort(compareText);
    return (await Promise.all(entries.map((entry) => filesOf(join(path, entry), io)))).flat();
  }
  if (extensions.includes(extname(path))) return [path];
  io.err(`Skipping file ${path}, recognized file extensions are: [${extensions.join(" ")}]\n`);
  return [];
}

/** Of one text; `file` is only used in messages. */
export function objectsOf(file: string, text: string, faults: string[]): readonly FileObject[] {
  const rows = text.split("\n");
  const lines = yamlLines(text).map((fields) => new Map(fields).set("", startOf(rows, fields.get("") ?? 1)));
  return parseYaml(text).flatMap((document, i) => flatten(file, document, lines[i] ?? new Map(), "", faults));
}

/** A document begins after its separator, with whatever comments. */
function startOf(rows: readonly string[], line: number): number {
  let start = line;
  while (start > 1 && !/^---(\s|$)/.test(rows[start - 2] ?? "")) start--;
  return start;
}

function flatten(file: string, value: unknown, lines: YamlLines, at: string, faults: string[]): readonly FileObject[] {
  if (!isRecord(value) || typeof value.kind !== "string" || typeof value.apiVersion !== "string") {
    faults.push(`${file}:${lines.get(at) ?? 1}: not a Kubernetes object (it needs apiVersion, kind and metadata.name)`);
    return [];
  }
  if (value.kind.endsWith("List") && Array.isArray(value.items))
    return value.items.flatMap((item, i) =>
      flatten(file, item, lines, `${at === "" ? "" : `${at}.`}items[${i}]`, faults),
    );
  const own = lines.get(at) ?? 1;
  return [{ raw: value, file, line: (path) => (path && nearest(lines, at, path)) || own }];
}

/** The field itself; fields that defaults filled in are not written anywhere, so what they stand in is shown. */
function nearest(lines: YamlLines, at: string, path: string): number | undefined {
  const prefix = at === "" ? "" : `${at}.`;
  for (let rest = path; rest !== ""; rest = rest.replace(/(\.?[^.[\]]+|\[[^\]]*\])$/, "")) {
    const line = lines.get(`${prefix}${rest}`);
    if (line !== undefined) return line;
    if (!/(\.|\[)/.test(rest)) return undefined;
  }
  return undefined;
}

/** `Kind namespace/name`, as messages name objects. */
export function fileObjectName(raw: Readonly<Record<string, unknown>>): string {
  const metadata = isRecord(raw.metadata) ? raw.metadata : {};
  const [namespace, name] = [readText(metadata.namespace), readText(metadata.name)];
  return `${readText(raw.kind)} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString("utf8");
}
