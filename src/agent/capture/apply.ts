/**
 * Rules in, kernel state out, in the network namespace the commands run in. Applying twice changes nothing; rules of
 * another configuration are removed first; what is not Istio's is never touched.
 */
import { execFile } from "node:child_process";
import { FairleadError } from "../../lib/index.ts";
import type { CaptureConfig } from "./config.ts";
import { formatNft, formatNftCleanup } from "./nft.ts";
import { formatRestore } from "./restore.ts";
import type { CaptureRule } from "./rule.ts";
import { buildCaptureRules } from "./rules.ts";

export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program with its arguments, never through a shell. */
export type RunCommand = (command: string, args: readonly string[], stdin?: string) => Promise<CommandResult>;

export interface CaptureHost {
  readonly run: RunCommand;
  readonly log: (message: string) => void;
}

const tables = ["nat", "mangle", "raw"] as const;

/** Commands on this machine; with a namespace's file, inside that network namespace. */
export function createRunCommand(networkNamespace = ""): RunCommand {
  return (command, args, stdin) =>
    new Promise((resolve, reject) => {
      const line =
        networkNamespace === "" ? [command, ...args] : ["nsenter", `--net=${networkNamespace}`, "--", command, ...args];
      const [program = command, ...rest] = line;
      const child = execFile(program, rest, { maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
        if (error && typeof error.code !== "number")
          reject(
            new FairleadError("missing-tool", `${program} cannot be run: ${error.message}`, {
              hint: `install ${command === "nft" ? "nftables" : "iptables and iproute2"}`,
              cause: error,
            }),
          );
        else resolve({ status: error ? Number(error.code) : 0, stdout, stderr });
      });
      child.stdin?.on("error", () => {});
      child.stdin?.end(stdin ?? "");
    });
}

export async function applyCapture(config: CaptureConfig, host: CaptureHost): Promise<void> {
  const rules = buildCaptureRules(config);
  if (config.nativeNftables) await applyNft(config.cleanupOnly ? formatNftCleanup() : formatNft(rules), host);
  else {
    await applyFamily(programsOf(config, 4), rules.v4, config, host);
    if (config.enableIpv6) await applyFamily(programsOf(config, 6), rules.v6, config, host);
  }
  if (config.cleanupOnly) return;
  if (config.enableIpv6) await runOrFail(host, "ip", ["-6", "addr", "replace", "::6/128", "dev", "lo"]);
  if (config.inboundInterceptionMode === "TPROXY" && config.inboundPortsInclude !== "") await routeMarked(config, host);
}

interface Programs {
  readonly iptables: string;
  readonly save: string;
  readonly restore: string;
}

function programsOf(config: CaptureConfig, family: 4 | 6): Programs {
  const base = family === 4 ? "iptables" : "ip6tables";
  const flavour = config.forceIptablesBinary;
  const program = flavour === "" ? base : `${base}-${flavour}`;
  return { iptables: program, save: `${program}-save`, restore: `${program}-restore` };
}

/** What is there of an earlier time goes in the same step. */
async function applyNft(input: string, host: CaptureHost): Promise<void> {
  host.log(`Running nft -f - with the following input:\n${input.trim()}`);
  await runOrFail(host, "nft", ["-f", "-"], input);
}

async function applyFamily(
  programs: Programs,
  rules: readonly CaptureRule[],
  config: CaptureConfig,
  host: CaptureHost,
): Promise<void> {
  const found = parseSaved((await runOrFail(host, programs.save, [])).stdout);
  const residue = found.chains.length > 0;
  if (config.cleanupOnly || residue) {
    if (!config.cleanupOnly && !config.forceApply && (await isInPlace(programs, rules, found, host))) {
      host.log("The iptables rules are in place already");
      return;
    }
    host.log("Performing cleanup of existing iptables");
    await cleanUp(programs, rules, found, host);
  }
  if (config.cleanupOnly) return;
  const input = formatRestore(rules);
  host.log(`Running iptables restore with: ${programs.restore} and the following input:\n${input.trim()}`);
  await runOrFail(host, programs.restore, ["--noflush"], input);
}

interface SavedRule {
  readonly table: string;
  readonly chain: string;
  /** The rule without its `-A`. */
  readonly words: readonly string[];
}

interface SavedState {
  readonly chains: readonly { readonly table: string; readonly chain: string }[];
  /** All rules in Istio's chains, and those elsewhere that jump into them. */
  readonly rules: readonly SavedRule[];
}

/** Istio's chains and jumps in the output of iptables-save. */
function parseSaved(text: string): SavedState {
  const chains: { table: string; chain: string }[] = [];
  const rules: SavedRule[] = [];
  let table = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("*")) table = line.slice(1).trim();
    else if (line.startsWith(":ISTIO_")) chains.push({ table, chain: line.slice(1).split(" ")[0] ?? "" });
    else if (line.startsWith("-A ") && line.includes("ISTIO_")) {
      const [, ...words] = line.trim().split(" ");
      rules.push({ table, chain: words[0] ?? "", words });
    }
  }
  return { chains, rules };
}

/** The same number of rules in each of Istio's chains, and each of ours known to the kernel. */
async function isInPlace(
  programs: Programs,
  rules: readonly CaptureRule[],
  found: SavedState,
  host: CaptureHost,
): Promise<boolean> {
  const count = (list: readonly { readonly table: string; readonly chain: string }[]): string =>
    list
      .filter((rule) => rule.chain.startsWith("ISTIO_"))
      .map((rule) => `${rule.table} ${rule.chain}`)
      .sort()
      .join("\n");
  if (count(found.rules) !== count(rules)) return false;
  for (const rule of rules) {
    const check = await host.run(programs.iptables, ["-w", "-t", rule.table, "-C", rule.chain, ...rule.params]);
    if (check.status !== 0) return false;
  }
  return true;
}

/** First the rules of this configuration in built-in chains, then every jump to Istio's chains, then those chains. */
async function cleanUp(
  programs: Programs,
  rules: readonly CaptureRule[],
  found: SavedState,
  host: CaptureHost,
): Promise<void> {
  const undo = (table: string, ...args: readonly string[]) => host.run(programs.iptables, ["-w", "-t", table, ...args]);
  for (const rule of rules)
    if (!rule.chain.startsWith("ISTIO_")) await undo(rule.table, "-D", rule.chain, ...rule.params);
  const left = parseSaved((await runOrFail(host, programs.save, [])).stdout);
  for (const rule of left.rules) if (!rule.chain.startsWith("ISTIO_")) await undo(rule.table, "-D", ...rule.words);
  for (const { table, chain } of found.chains) await undo(table, "-F", chain);
  for (const table of tables)
    for (const { chain } of found.chains.filter((entry) => entry.table === table)) await undo(table, "-X", chain);
}

/** Marked packets are delivered locally: one rule and one route per family, added once. */
async function routeMarked(config: CaptureConfig, host: CaptureHost): Promise<void> {
  const { inboundTproxyMark: mark, inboundTproxyRouteTable: table } = config;
  for (const family of config.enableIpv6 ? ["-4", "-6"] : ["-4"]) {
    const known = await runOrFail(host, "ip", [family, "rule", "show", "fwmark", mark, "lookup", table]);
    if (known.stdout.trim() === "")
      await runOrFail(host, "ip", [family, "rule", "add", "fwmark", mark, "lookup", table]);
    await runOrFail(host, "ip", [family, "route", "replace", "local", "default", "dev", "lo", "table", table]);
  }
}

async function runOrFail(
  host: CaptureHost,
  command: string,
  args: readonly string[],
  stdin?: string,
): Promise<CommandResult> {
  const result = await host.run(command, args, stdin);
  if (result.status === 0) return result;
  const hint = /permission denied|not permitted/i.test(result.stderr)
    ? "run as root (CAP_NET_ADMIN), in the network namespace to capture"
    : `look at \`${command === "nft" ? "nft list ruleset" : "iptables-save"}\``;
  throw new FairleadError("no-permission", `${command} ${args.join(" ")} failed: ${result.stderr.trim()}`, { hint });
}
