/** A repository and a tag in; the commit to build out, or why there is none: nothing is released but what a tag of its own version names. */
import { execFileSync } from "node:child_process";

export function releasedCommit(repository: string, tag: string): string {
  const git = (...args: readonly string[]): string =>
    execFileSync("git", args, { cwd: repository, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  let commit: string;
  try {
    // A branch of that name is no tag.
    commit = git("rev-parse", "--verify", "--end-of-options", `refs/tags/${tag}^{commit}`);
  } catch {
    throw new Error(`there is no tag ${tag}: a release is made from a tag, never from a branch or a working tree`);
  }
  const { version } = JSON.parse(git("show", `${commit}:package.json`)) as { version: string };
  if (tag !== `v${version}`) throw new Error(`the tag ${tag} names version ${version}: its name must be v${version}`);
  return commit;
}

/** Files of the tests that keep holes of the past shut, as that commit's own page lists them. */
export function pastHoleTests(page: string): readonly string[] {
  return [...new Set([...page.matchAll(/^\| [RD]\d\d \|.*\| `([^`]+)` \|/gm)].map(([, file = ""]) => file))].sort();
}
