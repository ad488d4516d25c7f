/** Rules as data in, iptables-restore input out. */
import { compareText } from "../../lib/index.ts";
import type { CaptureRule } from "./rule.ts";

const builtIn: ReadonlySet<string> = new Set([
  "INPUT",
  "OUTPUT",
  "FORWARD",
  "PREROUTING",
  "POSTROUTING",
  "ACCEPT",
  "RETURN",
  "DROP",
]);

/** Tables by name; in each the chains it needs, first those with rules, then those only jumped to, then the rules. */
export function formatRestore(rules: readonly CaptureRule[]): string {
  const tables = [...new Set(rules.map((rule) => rule.table))].sort(compareText);
  return tables
    .map((table) =>
      formatTable(
        table,
        rules.filter((rule) => rule.table === table),
      ),
    )
    .join("");
}

/** One rule as on a command line, without its table. */
function formatRule(rule: CaptureRule): string {
  const place = rule.position === undefined ? ["-A", rule.chain] : ["-I", rule.chain, String(rule.position)];
  return [...place, ...rule.params].join(" ");
}

/** The chains of one table that do not exist until they are made. */
function chainsOf(rules: readonly CaptureRule[]): readonly string[] {
  const chains = [...rules.map((rule) => rule.chain), ...rules.flatMap(jumpTarget)];
  return [...new Set(chains)].filter((chain) => !builtIn.has(chain));
}

function jumpTarget({ params }: CaptureRule): readonly string[] {
  const [jump, target] = params.slice(-2);
  return jump === "-j" && target !== undefined ? [target] : [];
}

function formatTable(table: string, rules: readonly CaptureRule[]): string {
  const lines = [...chainsOf(rules).map((chain) => `-N ${chain}`), ...rules.map(formatRule)];
  return `* ${table}\n${lines.join("\n")}\nCOMMIT\n`;
}
