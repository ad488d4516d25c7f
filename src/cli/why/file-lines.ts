/** Files in; the line that an object's field stands on out, for the few objects that are shown. */
import { readFileSync } from "node:fs";
import type { Locate } from "../../control-plane/index.ts";
import { isRecord } from "../../lib/index.ts";
import { objectName } from "../../model/index.ts";
import { type FileObject, objectsOf } from "../analyze/files.ts";

interface Document {
  readonly text: string;
  /** Lines before it. */
  readonly before: number;
}

export interface FileLines {
  /** By `Kind/namespace/name`, the file that has it. */
  readonly files: ReadonlyMap<string, string>;
  /** What an object without a namespace is in. */
  namespaceOf(kind: string, written: string | undefined): string | undefined;
}

/** Only the document that has the object is read for lines: a folder may have thousands. */
export function createLocate({ files, namespaceOf }: FileLines): Locate {
  const documents = new Map<string, readonly Document[]>();
  const known = new Map<string, { readonly object: FileObject; readonly before: number } | undefined>();
  const find = (name: string): { readonly object: FileObject; readonly before: number } | undefined => {
    const file = files.get(name);
    if (file === undefined) return undefined;
    const parts = documents.get(file) ?? documentsOf(file);
    documents.set(file, parts);
    const short = name.slice(name.lastIndexOf("/") + 1);
    for (const { text, before } of parts) {
      if (!text.includes(short)) continue;
      const object = objectsOf(file, text, []).find(({ raw }) => nameOf(raw, namespaceOf) === name);
      if (object) return { object, before };
    }
    return undefined;
  };
  return (name, field) => {
    if (!known.has(name)) known.set(name, find(name));
    const found = known.get(name);
    return found ? { file: found.object.file, line: found.before + found.object.line(field) } : {};
  };
}

function documentsOf(file: string): readonly Document[] {
  const rows = readFileSync(file, "utf8").split("\n");
  const starts = [0, ...rows.flatMap((row, i) => (i > 0 && /^---(\s|$)/.test(row) ? [i] : []))];
  return starts.map((start, i) => ({ text: rows.slice(start, starts[i + 1]).join("\n"), before: start }));
}

function nameOf(raw: FileObject["raw"], namespaceOf: FileLines["namespaceOf"]): string {
  const metadata = isRecord(raw.metadata) ? raw.metadata : {};
  const kind = String(raw.kind);
  const written = metadata.namespace === undefined ? undefined : String(metadata.namespace);
  return objectName(kind, { name: String(metadata.name), namespace: namespaceOf(kind, written) });
}
