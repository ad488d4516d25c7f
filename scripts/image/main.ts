/**
 * `npm run image -- [--out DIR] [--root-only]`: a built checkout in; the one image of control plane and agent, without a
 * builder, out: its root filesystem, the image as an OCI archive, and its bill of materials. `--root-only`: for the Containerfile.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { findEnvoy } from "../envoy-path.mjs";
import { complete, type Layer, text } from "./entry.ts";
import { environment, imageLayers, user } from "./layers.ts";
import { createImage } from "./oci.ts";
import { billOfMaterials } from "./sbom.ts";
import { contentOf } from "./tar.ts";

const root = resolve(import.meta.dirname, "../..");
const { values: flags } = parseArgs({
  options: { out: { type: "string", default: join(root, ".cache/image") }, "root-only": { type: "boolean" } },
});
const out = resolve(flags.out);
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const architecture = process.arch === "x64" ? "amd64" : process.arch;

const created = sourceDate();
const envoy = findEnvoy();
if (envoy === undefined) throw new Error("there is no Envoy to put in; `npm run image` brings one");
const layers = withBill(imageLayers({ root, node: process.execPath, envoy }));
mkdirSync(out, { recursive: true });
writeRoot(join(out, "root"));
process.stdout.write(`${join(out, "root")}\n`);
if (!flags["root-only"]) writeArchive();

/** Other programs of the same kind agree on SOURCE_DATE_EPOCH; a checkout has the time of its commit. */
function sourceDate(): Date {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given) return new Date(Number(given) * 1000);
  try {
    const seconds = execFileSync("git", ["log", "-1", "--format=%ct"], {
      cwd: root,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return new Date(Number(String(seconds)) * 1000);
  } catch {
    return new Date(0);
  }
}

/** Inside the image too, where scanners look. */
function withBill(made: readonly Layer[]): readonly Layer[] {
  const bill = billOfMaterials({ root, version, architecture, created, layers: made });
  const path = "/usr/share/sbom/fairlead.spdx.json";
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, "fairlead.spdx.json"), bill);
  return made.map((layer) =>
    layer.name === "fairlead" ? { ...layer, entries: complete([...layer.entries, text(path, bill)]) } : layer,
  );
}

function writeRoot(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const entry of layers.flatMap(({ entries }) => entries)) {
    const path = join(folder, entry.path);
    if (entry.type === "link") symlinkSync(entry.target, path);
    else if (entry.type === "file") writeFileSync(path, contentOf(entry));
    else mkdirSync(path, { recursive: true });
    // Not left to the umask of whoever runs this.
    if (entry.type !== "link") chmodSync(path, entry.mode);
  }
}

function writeArchive(): void {
  const image = createImage(layers, {
    ...{ name: "fairlead", version, architecture, created, user, environment },
    entrypoint: ["/usr/local/bin/fairlead"],
  });
  const file = join(out, `fairlead-${version}-linux-${architecture}.tar`);
  writeFileSync(file, image.archive);
  const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  for (const { name, bytes, packedBytes } of image.layers)
    process.stdout.write(`  ${name.padEnd(10)} ${mib(bytes).padStart(10)}, packed ${mib(packedBytes)}\n`);
  process.stdout.write(`${file}\n${image.digest}, ${mib(image.archive.length)}\n`);
}
