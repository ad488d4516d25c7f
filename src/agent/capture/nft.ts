/**
 * Capture rules of both families in, one script for `nft -f -` out, with Istio's names: tables of family inet that are put in
 * the place of what was there, all at once or not at all.
 */
import { type NftRule, nftChain, nftRule } from "./nft-rule.ts";
import type { CaptureRule, CaptureRules } from "./rule.ts";

type Table = CaptureRule["table"];

const tables: readonly Table[] = ["nat", "mangle", "raw"];

/** Where chains that the kernel calls begin, as iptables has them. */
const hooks: Readonly<Record<Table, Readonly<Record<string, string>>>> = {
  nat: {
    prerouting: "type nat hook prerouting priority -100;",
    output: "type nat hook output priority -100;",
  },
  mangle: {
    prerouting: "type filter hook prerouting priority -150;",
    output: "type route hook output priority -150;",
  },
  raw: {
    prerouting: "type filter hook prerouting priority -300;",
    output: "type filter hook output priority -300;",
  },
};

const nftTable = (table: Table): string => `istio-proxy-${table}`;

/** Tables go whether or not they are there: adding one that is there changes nothing. */
export function formatNftCleanup(): string {
  return tables.map((table) => `add table inet ${nftTable(table)}\ndelete table inet ${nftTable(table)}\n`).join("");
}

export function formatNft({ v4, v6 }: CaptureRules): string {
  return formatNftCleanup() + tables.map((table) => formatTable(table, v4, v6)).join("");
}

function formatTable(table: Table, v4: readonly CaptureRule[], v6: readonly CaptureRule[]): string {
  const [four, six] = [chainsOf(table, v4, "ip"), chainsOf(table, v6, "ip6")];
  const names = [...new Set([...four.keys(), ...six.keys(), ...jumps([...four.values(), ...six.values()].flat())])];
  if (names.length === 0) return "";
  const chains = names.map((name) => {
    const hook = hooks[table][name];
    const own = v6.length === 0 && hook !== undefined ? ["meta nfproto ipv6 return"] : [];
    const rules = [...own, ...merge(four.get(name) ?? [], six.get(name) ?? [], v6.length > 0)];
    const lines = [...(hook === undefined ? [] : [hook]), ...rules].map((line) => `    ${line}\n`);
    return `  chain ${name} {\n${lines.join("")}  }\n`;
  });
  return `table inet ${nftTable(table)} {\n${chains.join("")}}\n`;
}

/** The rules of each chain in the order in which the kernel asks them. */
function chainsOf(
  table: Table,
  rules: readonly CaptureRule[],
  family: "ip" | "ip6",
): ReadonlyMap<string, readonly NftRule[]> {
  const chains = new Map<string, NftRule[]>();
  for (const rule of rules.filter((one) => one.table === table)) {
    const name = nftChain(rule.chain);
    const chain = chains.get(name) ?? [];
    chain.splice(rule.position === undefined ? chain.length : rule.position - 1, 0, nftRule(rule, family));
    chains.set(name, chain);
  }
  return chains;
}

/** Chains that are gone to have to be there, though they have no rule. */
function jumps(rules: readonly NftRule[]): readonly string[] {
  return rules.flatMap(({ text }) => / jump (\S+)$/.exec(text)?.[1] ?? []);
}

/**
 * One list in which packets of each family meet the rules of their own list in its order. What both have is there once; what
 * says nothing of addresses and only one has is kept to that family.
 */
function merge(four: readonly NftRule[], six: readonly NftRule[], both: boolean): readonly string[] {
  if (!both) return four.map(({ text }) => text);
  const out: string[] = [];
  const [left, right] = [[...four], [...six]];
  for (;;) {
    const [a, b] = [left[0], right[0]];
    if (!a && !b) return out;
    if (a?.isOfFamily) out.push(left.shift()?.text ?? "");
    else if (b?.isOfFamily) out.push(right.shift()?.text ?? "");
    else if (a && a.text === b?.text) {
      out.push(a.text);
      left.shift();
      right.shift();
    } else if (a && !right.some(({ text }) => text === a.text)) {
      out.push(`meta nfproto ipv4 ${a.text}`);
      left.shift();
    } else {
      const of = b ? right : left;
      out.push(`meta nfproto ${b ? "ipv6" : "ipv4"} ${of.shift()?.text ?? ""}`);
    }
  }
}
