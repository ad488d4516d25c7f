/** Whoever follows a path that the documents for developers name finds something there. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

/** In code marks, with a folder or an ending of a source file; a URL's path begins with a slash, and a pattern is none. */
const path = /`([\w.-]+(?:\/[\w.-]*)+|[\w.-]+\.(?:tsx?|mjs))`|\]\(([\w./-]+)\)/g;
/** Every room has its own. */
const anywhere = new Set(["index.ts"]);

/** Those that lead nowhere: neither from the root, nor from `src`, nor from the row's room or the folder named last. */
function lost(text: string): readonly string[] {
  let here = root;
  const found: string[] = [];
  for (const line of text.split("\n")) {
    const [, room = ""] = /^\| ([a-z-]+) \|/.exec(line) ?? [];
    for (const [, code, link] of line.matchAll(path)) {
      const name = code ?? link ?? "";
      if (anywhere.has(name) || name.includes("NNNN")) continue;
      const places = [root, join(root, "src"), join(root, "src", room), here].map((folder) => join(folder, name));
      const place = places.find((one) => existsSync(one));
      if (place === undefined) found.push(name);
      else here = /\.\w+$/.test(place) ? dirname(place) : place;
    }
  }
  return found;
}

test("a path that leads nowhere is found, and one from where the text is not", () => {
  expect(
    lost("`xds/stream/plan.ts` and `hold-back.ts`, `push.ts`; `/debug/syncz`; [one](docs/none.md) of `gone/`"),
  ).toEqual(["push.ts", "docs/none.md", "gone/"]);
});

test.each(["ARCHITECTURE.md", "CONTRIBUTING.md"])("every path that %s names exists", (file) => {
  const text = readFileSync(join(root, file), "utf8");
  expect(text.match(path)?.length).toBeGreaterThan(10);
  expect(lost(text)).toEqual([]);
});
