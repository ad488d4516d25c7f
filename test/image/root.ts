/** A folder in; the image's root filesystem in its `root` out. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

export function makeImageRoot(out: string): string {
  const script = join(import.meta.dirname, "../../scripts/image/main.ts");
  const { status, stderr } = spawnSync(process.execPath, [script, "--root-only", "--out", out], {
    encoding: "utf8",
    env: { ...process.env, NODE_NO_WARNINGS: "1" },
  });
  if (status !== 0) throw new Error(stderr);
  return join(out, "root");
}
