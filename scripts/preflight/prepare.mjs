// A wish in; the machine made able to fulfil it, or an error after everything that is missing was said, out. As root,
// missing programs are installed with the system's own package manager; what it runs is shown.
import { spawnSync } from "node:child_process";
import { preflight } from "./checks.mjs";
import { createMachine } from "./machine.mjs";
import { formatFinding, missingCommand, planInstallation } from "./report.mjs";

/** @typedef {import("./machine.mjs").Machine} Machine */
/** @typedef {import("./finding.mjs").Finding} Finding */

const say = (/** @type {string} */ text) => process.stderr.write(text);

/**
 * @param {import("./checks.mjs").Wish} wish
 * @param {Machine} machine
 */
export async function prepareMachine(wish, machine = createMachine(process.env)) {
  const findings = await installMissing(wish, machine, await preflight(machine, wish));
  const wrong = findings.filter(({ state }) => state !== "ok");
  if (wrong.length === 0) return;
  say(wrong.map(formatFinding).join(""));
  const command = oneCommand(machine, findings);
  if (command !== undefined) say(`\nGet what is missing:  ${command}\n`);
  if (wrong.some(({ state }) => state === "error"))
    throw new Error("this machine lacks what is listed above; `fairlead check --pre` asks again");
  say("Tests that need it are skipped.\n\n");
}

/**
 * @param {import("./checks.mjs").Wish} wish
 * @param {Machine} machine
 * @param {readonly Finding[]} findings
 */
async function installMissing(wish, machine, findings) {
  const plan = planInstallation(machine, findings);
  if (!plan || machine.uid !== 0 || machine.env.FAIRLEAD_NO_INSTALL) return findings;
  say(`fairlead set-up: missing on this machine: ${plan.packages.join(", ")}\n`);
  for (const command of plan.commands) {
    say(`fairlead set-up: ${command}\n`);
    const env = { ...machine.env, DEBIAN_FRONTEND: "noninteractive" };
    const { status, stdout, stderr } = spawnSync("sh", ["-c", command], { encoding: "utf8", env });
    if (status !== 0) say(`${stdout}${stderr}fairlead set-up: that ended with status ${status}\n`);
  }
  return await preflight(machine, wish);
}

/**
 * As root the command itself installs: then that is the one.
 * @param {Machine} machine
 * @param {readonly Finding[]} findings
 */
function oneCommand(machine, findings) {
  const rights = findings.find(({ section, state }) => section === "rights" && state !== "ok");
  if (!rights?.remedy || machine.uid === 0) return missingCommand(machine, findings);
  const plan = planInstallation(machine, findings);
  return plan ? `${rights.remedy}   (it installs ${plan.packages.join(", ")})` : rights.remedy;
}
