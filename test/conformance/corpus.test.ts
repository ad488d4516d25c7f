/** The archives of recorded cases against their lists, so that what changes in an archive is seen in a diff. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folders, listCases, readArchive } from "../../scripts/corpus.mjs";

test.each(folders())("the list of %s names each case of its archive, with its digest", (kind) => {
  const listed = readFileSync(join(import.meta.dirname, "corpus", `${kind}.txt`), "utf8");
  expect(listCases(readArchive(kind))).toBe(listed);
});
