// The recorded behaviour of real Istio that the tests compare with: one compressed archive per kind of case, and beside
// it a list with a digest and a title for each case, so that a change of the archive can be read in a diff.
//   node scripts/corpus.mjs pack FOLDER     takes the cases whose inputs were written for this project
//   node scripts/corpus.mjs unpack FOLDER   writes all cases as files, to read them
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";

const here = fileURLToPath(new URL("../test/conformance/corpus", import.meta.url));

/** @typedef {(dir: string) => boolean} IsOurs */

/** @type {readonly (readonly [string, IsOurs])[]} */
const kindList = [
  ["analyze", (dir) => json(dir, "case.json").source === "own"],
  ["authz", (dir) => existsSync(join(dir, "case.md"))],
  ["bootstrap", (dir) => existsSync(join(dir, "case.md"))],
  ["cli", (dir) => /_dumps\/(own-|does-not-exist)/.test(text(dir, "args.txt"))],
  ["inject", (dir) => json(dir, "case.json").source === "own"],
  ["iptables", () => true],
  ["validate", (dir) => json(dir, "expected.json").source === "own"],
  ["xds", () => true],
];
/** Which cases of a folder are ours, by their own words about where they come from. The others are Istio's test data. */
const kinds = new Map(kindList);
/** What cases share. */
const shared = /^(_settings$|_dumps$)/;
const ownShared = /^_settings\/|^_dumps\/own-/;

const text = (/** @type {string} */ dir, /** @type {string} */ name) => readFileSync(join(dir, name), "utf8");
const json = (/** @type {string} */ dir, /** @type {string} */ name) => JSON.parse(text(dir, name));

/** @param {string} folder */
export const archiveOf = (folder) => join(here, `${folder}.json.br`);

/** @returns {readonly string[]} */
export const folders = () => [...kinds.keys()];

/**
 * All files of an archive by path: `case/input/k8s.yaml`.
 * @param {string} folder
 * @returns {ReadonlyMap<string, string>}
 */
export function readArchive(folder) {
  return new Map(Object.entries(JSON.parse(brotliDecompressSync(readFileSync(archiveOf(folder))).toString("utf8"))));
}

/**
 * One line for each case.
 * @param {ReadonlyMap<string, string>} files
 */
export function listCases(files) {
  /** @type {Map<string, import("node:crypto").Hash>} */
  const hashes = new Map();
  for (const [path, content] of files) {
    const [name = ""] = path.split("/");
    const hash = hashes.get(name) ?? createHash("sha256");
    hashes.set(name, hash.update(`${path}\0${content}\0`));
  }
  const title = (/** @type {string} */ name) =>
    files
      .get(`${name}/case.md`)
      ?.split("\n")
      .find((line) => line !== "" && !line.startsWith("#")) ?? "";
  return [...hashes]
    .map(([name, hash]) => `${`${hash.digest("hex").slice(0, 12)} ${name} ${title(name)}`.trim()}\n`)
    .join("");
}

/**
 * @param {string} root
 * @param {string} folder
 */
function pack(root, folder) {
  const isOurs = kinds.get(folder) ?? (() => false);
  const names = readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .filter((name) => shared.test(name) || isOurs(join(root, folder, name)))
    .sort();
  if (names.every((name) => shared.test(name))) return;
  const paths = names.flatMap((name) => filesBelow(join(root, folder), name));
  const wanted = paths.filter((path) => !path.startsWith("_") || ownShared.test(path));
  const files = new Map(wanted.map((path) => [path, text(join(root, folder), path)]));
  const packed = brotliCompressSync(JSON.stringify(Object.fromEntries(files)), {
    params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 11 },
  });
  writeFileSync(archiveOf(folder), packed);
  writeFileSync(join(here, `${folder}.txt`), listCases(files));
  console.log(`${folder}: ${names.filter((name) => !shared.test(name)).length} cases, ${packed.length} bytes`);
}

/**
 * @param {string} root
 * @param {string} dir
 * @returns {readonly string[]}
 */
function filesBelow(root, dir) {
  return readdirSync(join(root, dir), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(root, join(dir, entry.name)) : [join(dir, entry.name)]));
}

/**
 * @param {string} root
 * @param {string} folder
 */
export function unpack(root, folder) {
  for (const [path, content] of readArchive(folder)) {
    const file = join(root, folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [command, root = ""] = process.argv.slice(2);
  if (command === "pack")
    for (const folder of folders().filter((name) => existsSync(join(root, name)))) pack(root, folder);
  else if (command === "unpack")
    for (const folder of folders().filter((name) => existsSync(archiveOf(name)))) unpack(root, folder);
  else throw new Error("usage: node scripts/corpus.mjs pack|unpack FOLDER");
}
