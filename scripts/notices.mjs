// The inputs of a bundle in; the names and licences of the packages whose code is in it out.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ofPackage = /node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/**
 * @param {string} root
 * @param {readonly string[]} inputs
 */
export function notices(root, inputs) {
  const names = new Set(inputs.flatMap((path) => ofPackage.exec(path)?.[1] ?? []));
  return [...names]
    .sort()
    .map((name) => notice(join(root, "node_modules", name)))
    .join(`\n${"-".repeat(80)}\n\n`);
}

/** @param {string} dir */
function notice(dir) {
  const { name, version, license } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  const file = existsSync(dir) && readdirSync(dir).find((entry) => /^(licen[cs]e|copying)(\.|$)/i.test(entry));
  const text = file ? readFileSync(join(dir, file), "utf8").trim() : `Licence: ${license}`;
  return `${name} ${version} (${license})\n\n${text}\n`;
}
