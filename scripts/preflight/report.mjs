// Findings in; text in the manner of `linkerd check`, and the one command that brings what is missing, out.

/** @typedef {import("./finding.mjs").Finding} Finding */
/** @typedef {import("./machine.mjs").Machine} Machine */

const marks = { ok: "√", warning: "‼", error: "×" };

/**
 * @param {readonly Finding[]} findings
 * @param {string | undefined} command that gets what is missing
 */
export function formatFindings(findings, command) {
  const sections = [...new Set(findings.map(({ section }) => section))];
  const blocks = sections.map((section) => {
    const lines = findings.filter((finding) => finding.section === section).map(formatFinding);
    return `${section}\n${"-".repeat(section.length)}\n${lines.join("")}`;
  });
  const worst = findings.some(({ state }) => state === "error") ? "error" : "ok";
  const advice = command === undefined ? "" : `Get what is missing:  ${command}\n\n`;
  return `${blocks.join("\n")}\n${advice}Status check results are ${marks[worst]}\n`;
}

/** @param {Finding} finding */
export function formatFinding({ name, state, detail, remedy }) {
  const lines = [detail, remedy].filter((line) => line !== undefined && line !== "");
  return `${marks[state]} ${name}\n${lines.map((line) => `    ${line}\n`).join("")}`;
}

/** @type {readonly { readonly program: string, readonly key: "apt" | "dnf" | "apk", readonly update: string, readonly install: string }[]} */
const managers = [
  {
    program: "apt-get",
    key: "apt",
    update: "apt-get update -qq",
    install: "apt-get install -y -qq --no-install-recommends",
  },
  { program: "dnf", key: "dnf", update: "", install: "dnf install -y -q --setopt=install_weak_deps=False" },
  { program: "apk", key: "apk", update: "", install: "apk add --no-cache -q" },
];

/**
 * @typedef {object} Installation
 * @property {readonly string[]} packages
 * @property {readonly string[]} commands
 */

/**
 * How this machine's own package manager brings the missing programs; undefined where nothing is missing or none is known.
 * @param {Machine} machine
 * @param {readonly Finding[]} findings
 * @returns {Installation | undefined}
 */
export function planInstallation(machine, findings) {
  const manager = managers.find(({ program }) => machine.find(program));
  const tools = findings.flatMap(({ tool }) => (tool ? [tool] : []));
  if (!manager || tools.length === 0) return undefined;
  const packages = [...new Set(tools.map((tool) => tool.packages[manager.key]))];
  const commands = [manager.update, `${manager.install} ${packages.join(" ")}`].filter((command) => command !== "");
  return { packages, commands };
}

/**
 * @param {Machine} machine
 * @param {readonly Finding[]} findings
 * @returns {string | undefined}
 */
export function missingCommand(machine, findings) {
  const plan = planInstallation(machine, findings);
  if (plan) return plan.commands.map((command) => (machine.uid === 0 ? command : `sudo ${command}`)).join(" && ");
  const names = findings.flatMap(({ tool }) => (tool ? [tool.packages.apt] : []));
  return names.length === 0
    ? undefined
    : `install ${[...new Set(names)].join(", ")} with your system's package manager`;
}
