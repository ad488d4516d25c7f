/** R07: what is released is what a tag names, tested against every hole of the past, and can be compared with what it says of itself. */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mismatch, provenanceOf } from "../../scripts/release/provenance.ts";
import { pastHoleTests, releasedCommit } from "../../scripts/release/tag.ts";

const work = mkdtempSync(join(tmpdir(), "fairlead-release-"));
const repository = join(work, "repository");
afterAll(() => rmSync(work, { recursive: true, force: true }));

const git = (...args: readonly string[]): string =>
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], {
    cwd: repository,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();
const commit = (version: string): string => {
  writeFileSync(join(repository, "package.json"), JSON.stringify({ version }));
  git("add", "-A");
  git("commit", "-q", "-m", version);
  return git("rev-parse", "HEAD");
};

describe("R07: a release without the fix", () => {
  beforeAll(() => {
    mkdirSync(repository);
    git("init", "-q");
  });

  test("R07: only what a tag of its own version names is built, whatever lies in the working tree", () => {
    const first = commit("1.0.0");
    git("tag", "v1.0.0");
    git("tag", "v9.9.9");
    commit("1.0.1");
    git("branch", "v1.0.1");
    writeFileSync(join(repository, "package.json"), '{"version":"1.0.2"}');
    expect(releasedCommit(repository, "v1.0.0")).toBe(first);
    expect(() => releasedCommit(repository, "v1.0.1")).toThrow("no tag v1.0.1");
    expect(() => releasedCommit(repository, "v1.0.2")).toThrow("no tag v1.0.2");
    expect(() => releasedCommit(repository, "HEAD")).toThrow("no tag HEAD");
    expect(() => releasedCommit(repository, "v9.9.9")).toThrow("must be v1.0.0");
  });

  test("R07: every test of a hole of the past is run on it", () => {
    const root = join(import.meta.dirname, "../..");
    const files = pastHoleTests(readFileSync(join(root, "docs/reference/past-holes.md"), "utf8"));
    expect(files.length).toBeGreaterThan(15);
    expect(files).toContain("test/policy/holes.test.ts");
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  test("R07: one byte more, or another name, is not what the provenance speaks of", () => {
    const archive = join(work, "fairlead-1.0.0-linux-amd64.tar");
    writeFileSync(archive, "image");
    const statement = provenanceOf({ tag: "v1.0.0", commit: "c0ffee", files: [archive] });
    expect(JSON.parse(statement)).toMatchObject({
      subject: [
        { name: "fairlead-1.0.0-linux-amd64.tar", digest: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } },
      ],
      predicate: { buildDefinition: { externalParameters: { tag: "v1.0.0" } } },
    });
    expect(mismatch(archive, statement)).toBeUndefined();
    appendFileSync(archive, "x");
    expect(mismatch(archive, statement)).toMatch(/^fairlead-1\.0\.0-linux-amd64\.tar is .*, not /);
    expect(mismatch(join(work, "repository/package.json"), statement)).toMatch("does not speak of package.json");
  });
});
