/** The image: made twice it is the same, says what is in it, and what the chart and injected Pods start from it works. */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environment } from "../../scripts/image/layers.ts";
import { lacks } from "../require.ts";

const root = join(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "fairlead-image-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

async function makeImage(name: string, umask: string, env: Readonly<Record<string, string>>): Promise<string> {
  const made = spawn(
    "sh",
    [
      "-c",
      'umask "$1"; shift; exec "$@"',
      "sh",
      umask,
      process.execPath,
      join(root, "scripts/image/main.ts"),
      "--out",
      join(work, name),
    ],
    { cwd: work, env: { ...process.env, NODE_NO_WARNINGS: "1", ...env }, stdio: ["ignore", "pipe", "inherit"] },
  );
  let text = "";
  made.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const [status] = await once(made, "exit");
  if (status !== 0) throw new Error(`the image was not made: ${text}`);
  return /^sha256:\S{64}/m.exec(text)?.[0] ?? "";
}

describe.skipIf(lacks("root", "envoy", "iptables", "nft"))("the image", () => {
  let digests: readonly string[] = [];
  const folder = join(work, "one");
  const archive = (): string => join(folder, readdirSync(folder).find((name) => name.endsWith(".tar")) ?? "");

  beforeAll(async () => {
    digests = await Promise.all([
      makeImage("one", "022", { TZ: "UTC" }),
      makeImage("two", "077", { TZ: "Asia/Tokyo", LANG: "C" }),
    ]);
  });

  test("is the same whoever makes it and when", () => {
    expect(digests[0]).toMatch(/^sha256:/);
    expect(digests[1]).toBe(digests[0]);
  });

  test("holds what its manifest says, and the files of the root filesystem", () => {
    const layout = join(work, "layout");
    mkdirSync(layout);
    expect(spawnSync("tar", ["-xf", archive(), "-C", layout]).status).toBe(0);
    const blob = (digest: string): Buffer => readFileSync(join(layout, "blobs", digest.replace(":", "/")));
    const sha256 = (content: Buffer): string => `sha256:${createHash("sha256").update(content).digest("hex")}`;
    const index = JSON.parse(readFileSync(join(layout, "index.json"), "utf8"));
    const manifest = JSON.parse(blob(index.manifests[0].digest).toString());
    const config = JSON.parse(blob(manifest.config.digest).toString());
    expect(index.manifests[0].digest).toBe(digests[0]);
    const all: readonly { digest: string; size: number }[] = [manifest.config, ...manifest.layers];
    for (const { digest, size } of all) {
      expect(sha256(blob(digest))).toBe(digest);
      expect(blob(digest).length).toBe(size);
    }
    expect(manifest.layers.map(({ digest }: { digest: string }) => sha256(gunzipSync(blob(digest))))).toEqual(
      config.rootfs.diff_ids,
    );
    const unpacked = join(work, "unpacked");
    mkdirSync(unpacked);
    for (const { digest } of manifest.layers)
      expect(
        spawnSync("tar", ["-xz", "-C", unpacked], { input: blob(digest), maxBuffer: 1 << 30 }).stderr.toString(),
      ).toBe("");
    expect(spawnSync("diff", ["-r", "--no-dereference", unpacked, join(folder, "root")]).stdout.toString()).toBe("");
    expect(config.config).toMatchObject({ User: "1337:1337", Entrypoint: ["/usr/local/bin/fairlead"] });
  });

  test("has no shell, no file that lends rights, and nothing that its user could change", () => {
    const files = readdirSync(join(folder, "root"), { recursive: true, encoding: "utf8" });
    expect(files.filter((path) => /\/(sh|bash|dash|busybox|apt|npm|python3?)$/.test(path))).toEqual([]);
    const modes = files
      .map((path) => join(folder, "root", path))
      .filter((path) => existsSync(path) && statSync(path).isFile())
      .map((path) => [path, statSync(path).mode & 0o6022] as const);
    expect(modes.filter(([, mode]) => mode !== 0)).toEqual([]);
  });

  test("says what is in it", () => {
    const bill = JSON.parse(readFileSync(join(folder, "fairlead.spdx.json"), "utf8"));
    const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
    const names: readonly string[] = bill.packages.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["fairlead", "node", "envoy", "commander", "js-yaml"]));
    const npm = bill.packages.filter(({ SPDXID }: { SPDXID: string }) => SPDXID.startsWith("SPDXRef-npm-"));
    expect(npm.length).toBeGreaterThan(10);
    for (const { name, versionInfo } of npm) expect(lock.packages[`node_modules/${name}`].version).toBe(versionInfo);
    expect(new Set(bill.packages.map(({ SPDXID }: { SPDXID: string }) => SPDXID)).size).toBe(names.length);
    expect(bill.relationships).toHaveLength(names.length);
    expect(readFileSync(join(folder, "root/usr/share/sbom/fairlead.spdx.json"), "utf8")).toBe(
      readFileSync(join(folder, "fairlead.spdx.json"), "utf8"),
    );
  });

  test("is what the Containerfile makes", () => {
    const text = readFileSync(join(root, "Containerfile"), "utf8").replace(/\\\n\s*/g, "");
    const [, settings = ""] = /^ENV (.*)$/m.exec(text) ?? [];
    const found = [...settings.matchAll(/(\w+)=("[^"]*"|\S+)/g)].map(([, name, value = ""]) => [
      name,
      value.replaceAll('"', ""),
    ]);
    expect(Object.fromEntries(found)).toEqual(environment);
    expect(text).toContain("USER 1337:1337");
    expect(text).toContain('ENTRYPOINT ["/usr/local/bin/fairlead"]');
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(text).toContain(`image.version=${version}`);
  });
});
