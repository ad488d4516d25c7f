// `node main.mjs check|demo|test [ARGUMENTS OF up]`: the preflight as a program, for when nothing else is there yet.
import { fileURLToPath } from "node:url";
import { preflight } from "./checks.mjs";
import { quote } from "./finding.mjs";
import { createMachine } from "./machine.mjs";
import { prepareMachine } from "./prepare.mjs";
import { formatFindings, missingCommand } from "./report.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const [purpose = "check", ...args] = process.argv.slice(2);

/** What the user typed. */
function typed() {
  const event = process.env.npm_lifecycle_event;
  if (event === "test") return "npm test";
  if (event !== "start") return `fairlead ${args.map(quote).join(" ")}`;
  const own = args.slice(2).map(quote).join(" ");
  return own === "" ? "npm start" : `npm start -- ${own}`;
}

async function check() {
  const machine = createMachine(process.env);
  const findings = await preflight(machine, { purpose: "demo", root, args });
  process.stdout.write(formatFindings(findings, missingCommand(machine, findings)));
  return findings.some(({ state }) => state === "error") ? 1 : 0;
}

async function prepare() {
  try {
    await prepareMachine({ purpose: purpose === "test" ? "test" : "demo", root, args, again: typed() });
    return 0;
  } catch (error) {
    process.stderr.write(`fairlead: ${error instanceof Error ? error.message : error}\n`);
    return 1;
  }
}

process.exitCode = purpose === "check" ? await check() : await prepare();
