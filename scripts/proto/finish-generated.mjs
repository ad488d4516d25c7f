// The folder of files that protoc-gen-es wrote in; the same with short imports, each type known by name once, and one
// more file, all.js, that has every type there is.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

export function finishGenerated(out) {
  writeFileDesc(out);
  const names = readdirSync(out, { recursive: true }).filter((name) => name.endsWith("_pb.js"));
  writeAll(out, inOrder(names.map((name) => finishFile(out, name))));
}

/**
 * A generated file walks all that its imports import, by every path that leads there, to know its types: a quarter of a
 * second at each start. Without `import public`, which none of ours has, a field's type is always in a direct import.
 */
function writeFileDesc(out) {
  writeFileSync(
    join(out, "file-desc.js"),
    `import { fileDesc as hydrate } from "@bufbuild/protobuf/codegenv2";

const byName = new Map();
export const loadedFiles = [];

export function fileDesc(name, b64, imports = []) {
  const known = byName.get(name);
  if (known) return known;
  const file = hydrate(b64, imports.map((one) => ({ ...one, dependencies: [] })));
  file.dependencies.splice(0, file.dependencies.length, ...imports);
  byName.set(name, file);
  loadedFiles.push(file);
  return file;
}
`,
  );
  writeFileSync(
    join(out, "file-desc.d.ts"),
    `import type { GenFile } from "@bufbuild/protobuf/codegenv2";
/** The generated files that somebody has asked for so far, each after those that it imports. */
export declare const loadedFiles: readonly GenFile[];
`,
  );
}

/** Rewrites one, and says what is in it: its constant, its types as base64, and the constants that it imports. */
function finishFile(out, name) {
  const file = join(out, name);
  const text = readFileSync(file, "utf8");
  const proto = name.replace(/_pb\.js$/, ".proto");
  const codegen = /^import \{ (.*) \} from "@bufbuild\/protobuf\/codegenv2";$/m;
  const described = /^export const (file_\w+) = .*\n {2}fileDesc\("([^"]+)"(?:, \[(.*)\])?\);$/m;
  const words = codegen.exec(text)?.[1]?.split(", ");
  const [, constant, b64, imports = ""] = described.exec(text) ?? [];
  if (words === undefined || b64 === undefined) throw new Error(`${name} does not look like a generated file`);
  const others = words.filter((word) => word !== "fileDesc");
  const rest = others.length > 0 ? `import { ${others.join(", ")} } from "@bufbuild/protobuf/codegenv2";\n` : "";
  const own = `import { fileDesc } from "${relative(dirname(file), join(out, "file-desc.js")).replace(/^(?!\.)/, "./")}";`;
  writeFileSync(
    file,
    text.replace(codegen, () => `${rest}${own}`).replace('fileDesc("', () => `fileDesc(${JSON.stringify(proto)}, "`),
  );
  return { proto, constant, b64, imports: imports.split(", ").filter((one) => one !== "") };
}

/** Each after those that it imports. */
function inOrder(files) {
  const byConstant = new Map(files.map((file) => [file.constant, file]));
  const ordered = new Set();
  const add = (file) => {
    for (const one of file.imports) if (byConstant.has(one)) add(byConstant.get(one));
    ordered.add(file);
  };
  for (const file of files.sort((a, b) => (a.proto < b.proto ? -1 : 1))) if (!ordered.has(file)) add(file);
  return [...ordered];
}

/**
 * Every type, where all must be known (EnvoyFilter, the strict conformance parse). As data and not by imports, which
 * would make all of them in one turn of the event loop.
 */
function writeAll(out, files) {
  const place = new Map(files.map(({ constant }, i) => [constant, i]));
  const wellKnown = [...new Set(files.flatMap(({ imports }) => imports.filter((one) => !place.has(one))))].sort();
  const rows = files.map(({ proto, b64, imports }) => {
    const needs = imports.map((one) => place.get(one) ?? one);
    return `  [${JSON.stringify(proto)}, "${b64}", [${needs.join(", ")}]],`;
  });
  writeFileSync(
    join(out, "all.js"),
    `import { ${wellKnown.join(", ")} } from "@bufbuild/protobuf/wkt";
import { fileDesc } from "./file-desc.js";

const table = [
${rows.join("\n")}
];

export function* allFiles() {
  const made = [];
  for (const [name, b64, needs] of table) {
    made.push(fileDesc(name, b64, needs.map((one) => (typeof one === "number" ? made[one] : one))));
    yield made.at(-1);
  }
}
`,
  );
  writeFileSync(
    join(out, "all.d.ts"),
    `import type { GenFile } from "@bufbuild/protobuf/codegenv2";
/** Each after those that it imports, made when it is asked for: all at once take a tenth of a second. */
export declare function allFiles(): Generator<GenFile>;
`,
  );
}
