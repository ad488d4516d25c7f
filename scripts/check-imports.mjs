// Checks the import table of ARCHITECTURE.md against the sources with dependency-cruiser: rooms import only what the
// table allows and only through `index.ts`, and nothing imports in a circle, neither files nor the folders of a room with
// the files beside them.
// `check-imports.mjs ROOT` does so for another tree.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cruise } from "dependency-cruiser";

const root = process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url));
const table = new Map(
  [...readFileSync(join(root, "ARCHITECTURE.md"), "utf8").matchAll(/^\| ([a-z-]+) \| .* \| ([a-z, -]+) \|$/gm)].map(
    ([, room, allowed]) => [room, allowed === "nothing" ? [] : allowed.split(", ")],
  ),
);
const rooms = readdirSync(join(root, "src"));
for (const room of rooms) if (!table.has(room)) throw new Error(`ARCHITECTURE.md has no row for the room ${room}`);

const isTest = "\\.test\\.tsx?$|/testing\\.ts$";
const forbidden = rooms.flatMap((room) => [
  {
    name: `${room}-may-not-import`,
    severity: "error",
    from: { path: `^src/${room}/`, pathNot: isTest },
    to: { path: "^src/", pathNot: `^src/(${[room, ...table.get(room)].join("|")})/` },
  },
  {
    name: `${room}-only-through-index`,
    severity: "error",
    from: { path: `^src/${room}/`, pathNot: isTest },
    to: { path: "^src/", pathNot: `^src/(${room}|gen)/|^src/[a-z-]+/index\\.ts$` },
  },
]);
forbidden.push({
  name: "no-cycle",
  severity: "error",
  from: { path: "^src/", pathNot: "^src/gen/" },
  to: { circular: true },
});

process.chdir(root);
const result = await cruise(["src"], {
  ruleSet: { forbidden },
  validate: true,
  parser: "swc",
  exclude: { path: "^src/gen/" },
  doNotFollow: { path: "node_modules|^src/gen" },
  tsPreCompilationDeps: true,
});
const { modules, summary } = result.output;
const sources = readdirSync("src", { recursive: true }).filter(
  (f) => /\.tsx?$/.test(f) && !f.endsWith(".d.ts") && !f.startsWith("gen/"),
).length;
const read = modules.filter((m) => m.source.startsWith("src/") && /\.tsx?$/.test(m.source)).length;
const rings = rooms.filter((room) => room !== "gen").flatMap((room) => folderRings(room));
for (const ring of rings) console.error(`in a circle: ${ring.join(" -> ")}`);
// A parser that understands nothing reads nothing and would pass.
if (read < sources) throw new Error(`dependency-cruiser read ${read} of ${sources} sources`);
for (const v of summary.violations)
  console.error(`${v.rule.name}: ${v.from} -> ${v.cycle ? v.cycle.map((c) => c.name).join(" -> ") : v.to}`);
console.error(`import table: ${read} sources, ${summary.violations.length} violations`);
process.exitCode = summary.violations.length + rings.length === 0 ? 0 : 1;

/** Each circle once, by the first part that is met on it: of folders and files beside each other, at any depth of a room. */
function folderRings(room) {
  const beside = new Map();
  for (const { source, dependencies } of modules) {
    if (!source.startsWith(`src/${room}/`) || new RegExp(isTest).test(source)) continue;
    for (const { resolved } of dependencies) {
      const [parent, from, to] = parting(source, resolved);
      if (!`${parent}/`.startsWith(`src/${room}/`)) continue;
      const imports = beside.get(parent) ?? new Map();
      beside.set(parent, imports.set(from, (imports.get(from) ?? new Set()).add(to)));
    }
  }
  return [...beside].flatMap(([parent, imports]) =>
    ringsOf(imports).map((ring) => ring.map((one) => `${parent}/${one}`)),
  );
}

/** The folder that two files have in common, and of each what is directly in it: a folder, or the file itself. */
function parting(from, to) {
  const [a, b] = [from.split("/"), to.split("/")];
  const at = a.findIndex((part, i) => part !== b[i]);
  return at < 0 ? [] : [a.slice(0, at).join("/"), a[at], b[at]];
}

function ringsOf(imports) {
  const rings = [];
  const done = new Set();
  const walk = (part, path) => {
    const at = path.indexOf(part);
    if (at >= 0) rings.push([...path.slice(at), part]);
    if (at >= 0 || done.has(part)) return;
    for (const next of imports.get(part) ?? []) walk(next, [...path, part]);
    done.add(part);
  };
  for (const part of imports.keys()) walk(part, []);
  return rings;
}
