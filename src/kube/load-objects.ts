/** Files and folders in, Kubernetes objects out: `.yaml`, `.yml` and `.json`, folders recursively, lists flattened. */
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { compareText, FairleadError, isRecord, parseYaml } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { asObject } from "./narrow.ts";

export interface LoadedObject {
  readonly file: string;
  readonly object: KubeObject;
}

export interface LoadOptions {
  /** Documents that are no Kubernetes objects (a mesh.yaml, say) are handed here instead of being an error. */
  readonly other?: (file: string, document: unknown) => void;
}

const extensions: ReadonlySet<string> = new Set([".yaml", ".yml", ".json"]);

export async function loadObjects(
  paths: readonly string[],
  options: LoadOptions = {},
): Promise<readonly LoadedObject[]> {
  const out: LoadedObject[] = [];
  for (const path of paths)
    for (const file of await objectFiles(path)) out.push(...parseObjects(file, await readFile(file, "utf8"), options));
  return out;
}

/** The objects of one text; `file` is only used in messages. */
export function parseObjects(file: string, text: string, options: LoadOptions = {}): readonly LoadedObject[] {
  let documents: readonly unknown[];
  try {
    documents = documentsOf(text);
  } catch (error) {
    throw new FairleadError("invalid", `${file}: ${FairleadError.from(error).message}`, { cause: error });
  }
  return documents.flatMap((document) => flatten(file, document, options)).map((object) => ({ file, object }));
}

/**
 * Kubernetes' own reader of multi-document files counts the line break before `---` to the separator: a block scalar at
 * the end of a document then has none. It shows in the bytes of certificates. Istio reads its kinds with another one.
 */
function documentsOf(text: string): readonly unknown[] {
  const pieces = text.split(/\n(?=---(?:\s|$))/);
  const last = pieces.length - 1;
  try {
    return pieces.flatMap((piece, i) =>
      parseYaml(piece).map((document) => (i < last && isCore(document) ? withoutLastBreak(document, piece) : document)),
    );
  } catch {
    // As a whole, for the right line number in the message.
    return parseYaml(text);
  }
}

function isCore(document: unknown): boolean {
  const version = isRecord(document) ? document.apiVersion : undefined;
  return typeof version === "string" && !/istio\.io\/|^gateway\.networking\.k8s\.io\//.test(version);
}

function withoutLastBreak(value: unknown, text: string): unknown {
  if (Array.isArray(value))
    return [...value.slice(0, -1), ...value.slice(-1).map((item) => withoutLastBreak(item, text))];
  if (isRecord(value)) {
    const key = Object.keys(value).at(-1);
    return key === undefined ? value : { ...value, [key]: withoutLastBreak(value[key], text) };
  }
  const isBlock = typeof value === "string" && value.endsWith("\n") && text.endsWith(lastLine(value));
  return isBlock ? value.slice(0, -1) : value;
}

const lastLine = (block: string): string => block.trimEnd().slice(block.trimEnd().lastIndexOf("\n") + 1);

function flatten(file: string, document: unknown, options: LoadOptions): KubeObject[] {
  if (
    isRecord(document) &&
    Array.isArray(document.items) &&
    typeof document.kind === "string" &&
    document.kind.endsWith("List")
  )
    return document.items.flatMap((item) => flatten(file, item, options));
  const object = asObject(document);
  if (object) return [object];
  if (isRecord(document) && typeof document.kind === "string" && typeof document.apiVersion === "string")
    throw new FairleadError("invalid", `${file}: a ${document.kind} without metadata.name`);
  if (options.other) options.other(file, document);
  else
    throw new FairleadError(
      "invalid",
      `${file}: not a Kubernetes object (it needs apiVersion, kind and metadata.name)`,
    );
  return [];
}

/** The file itself, or those of a folder that can hold objects. */
export async function objectFiles(path: string): Promise<readonly string[]> {
  const info = await stat(path).catch((error: unknown) => {
    throw new FairleadError("not-found", `cannot read ${path}`, { cause: error });
  });
  return info.isDirectory() ? filesBelow(path) : [path];
}

async function filesBelow(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  const nested = await Promise.all(
    entries
      .sort((a, b) => compareText(a.name, b.name))
      .filter((entry) => entry.isDirectory() || extensions.has(extname(entry.name)))
      // A link to nowhere is a file that cannot be read, no reason to leave out the others.
      .map((entry) => (entry.isDirectory() ? filesBelow(join(path, entry.name)) : [join(path, entry.name)])),
  );
  return nested.flat();
}
