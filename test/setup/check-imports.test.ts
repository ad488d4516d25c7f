/** The check of the import table, on small trees of its own. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";

const script = join(import.meta.dirname, "../../scripts/check-imports.mjs");
const trees: string[] = [];
afterEach(() => {
  for (const tree of trees.splice(0)) rmSync(tree, { recursive: true });
});

type Files = Readonly<Record<string, string>>;

/** `shop` may import `lib`, which may import nothing. */
const sound: Files = {
  "ARCHITECTURE.md": "| room | what | may import |\n|---|---|---|\n| lib | words | nothing |\n| shop | sells | lib |\n",
  "src/lib/index.ts": 'export { word } from "./word.ts";\n',
  "src/lib/word.ts": 'export const word = "w";\n',
  "src/shop/index.ts": 'export { price } from "./desk/price.ts";\n',
  "src/shop/desk/price.ts": 'import { word } from "../../lib/index.ts";\nexport const price = word;\n',
};

function check(more: Files): { readonly status: number | null; readonly said: string } {
  const tree = mkdtempSync(join(tmpdir(), "fairlead-imports-"));
  trees.push(tree);
  for (const [file, text] of Object.entries({ ...sound, ...more })) {
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    writeFileSync(join(tree, file), text);
  }
  const { status, stderr } = spawnSync(process.execPath, [script, tree], { encoding: "utf8" });
  return { status, said: stderr };
}

test("a tree that keeps to its table passes, and all of it is read", () => {
  const page = 'import { word } from "../lib/index.ts";\nexport const page = word;\n';
  expect(check({ "src/shop/page.tsx": page })).toEqual({
    status: 0,
    said: "import table: 5 sources, 0 violations\n",
  });
});

const uses = (file: string): string => `import { it } from "${file}";\nexport const also = it;\n`;
const word = 'export const it = "w";\n';

test.each<[what: string, more: Files, said: string]>([
  [
    "a room imports one that it may not",
    { "src/shop/index.ts": word, "src/lib/back.ts": uses("../shop/index.ts") },
    "lib-may-not-import: src/lib/back.ts -> src/shop/index.ts",
  ],
  [
    "a page of a room does",
    { "src/shop/index.ts": word, "src/lib/back.tsx": uses("../shop/index.ts") },
    "lib-may-not-import: src/lib/back.tsx -> src/shop/index.ts",
  ],
  [
    "a room is entered beside its index",
    { "src/shop/side.ts": 'export { word } from "../lib/word.ts";\n' },
    "shop-only-through-index: src/shop/side.ts -> src/lib/word.ts",
  ],
  [
    "two files import each other",
    {
      "src/lib/a.ts": 'import { b } from "./b.ts";\nexport const a = () => b;\n',
      "src/lib/b.ts": 'import { a } from "./a.ts";\nexport const b = () => a;\n',
    },
    "no-cycle: src/lib/a.ts -> src/lib/b.ts",
  ],
  [
    "two folders of a room do, by other files",
    {
      "src/shop/desk/bell.ts": uses("../store/box.ts"),
      "src/shop/store/box.ts": word,
      "src/shop/store/sign.ts": 'export { price } from "../desk/price.ts";\n',
    },
    "in a circle: src/shop/desk -> src/shop/store -> src/shop/desk",
  ],
  [
    "a folder and a file beside it do, by other files",
    {
      "src/shop/bell.ts": uses("./desk/box.ts"),
      "src/shop/desk/box.ts": word,
      "src/shop/desk/sign.ts": 'export { also } from "../bell.ts";\n',
    },
    "in a circle: src/shop/bell.ts -> src/shop/desk -> src/shop/bell.ts",
  ],
  [
    "a folder, a file beside it and another folder do",
    {
      "src/shop/desk/bell.ts": uses("../bell.ts"),
      "src/shop/bell.ts": uses("./store/box.ts"),
      "src/shop/store/box.ts": word,
      "src/shop/store/sign.ts": 'export { price } from "../desk/price.ts";\n',
    },
    "in a circle: src/shop/bell.ts -> src/shop/store -> src/shop/desk -> src/shop/bell.ts",
  ],
  ["a room has no row in the table", { "src/yard/index.ts": word }, "ARCHITECTURE.md has no row for the room yard"],
])("it fails where %s", (_, more, said) => {
  const answer = check(more);
  expect(answer.said).toContain(said);
  expect(answer.status).toBe(1);
});
