// The inputs of a bundle in; the packages whose code is in it, and their licences, out.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ofPackage = /node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/**
 * @param {string} root
 * @param {readonly string[]} inputs
 */
export function bundledPackages(root, inputs) {
  const names = new Set(inputs.flatMap((path) => ofPackage.exec(path)?.[1] ?? []));
  return [...names].sort().map((name) => {
    const dir = join(root, "node_modules", name);
    return { dir, ...JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) };
  });
}

/** @param {ReturnType<typeof bundledPackages>} packages */
export function notices(packages) {
  return packages.map(notice).join(`\n${"-".repeat(80)}\n\n`);
}

/** @param {ReturnType<typeof bundledPackages>[number]} of */
function notice({ dir, name, version, license }) {
  const file = existsSync(dir) && readdirSync(dir).find((entry) => /^(licen[cs]e|copying)(\.|$)/i.test(entry));
  const text = file ? readFileSync(join(dir, file), "utf8").trim() : `Licence: ${license}`;
  return `${name} ${version} (${license})\n\n${text}\n`;
}
