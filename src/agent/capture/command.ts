/** `istio-iptables` as a command: arguments and surroundings in, lines and an exit status out. */
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { FairleadError, formatIp } from "../../lib/index.ts";
import { applyCapture, type CaptureHost } from "./apply.ts";
import { type CaptureConfig, checkCapture } from "./config.ts";
import { type CaptureSurroundings, parseCaptureFlags } from "./flags.ts";
import { formatNft, formatNftCleanup } from "./nft.ts";
import { describeConfig, describeEnvironment } from "./print.ts";
import { formatRestore } from "./restore.ts";
import { buildCaptureRules } from "./rules.ts";
import { validateCapture } from "./validate.ts";

export interface CaptureOutput {
  /** One log record; may have several lines. */
  readonly write: (level: "info" | "warn" | "error", message: string) => void;
}

/** Surroundings of the real machine. */
export function readSurroundings(env: CaptureSurroundings["env"]): CaptureSurroundings {
  return {
    env,
    addresses: localAddresses(),
    nameservers: () => parseNameservers(readFileSync("/etc/resolv.conf", "utf8")),
    userId: (name) => parseUserId(readFileSync("/etc/passwd", "utf8"), name),
  };
}

/** The kernel's own lists, because Node leaves out interfaces whose link is not running. */
function localAddresses(): readonly string[] {
  const found = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const ofFamily = (family: string): readonly string[] =>
    found.filter((entry) => entry.family === family).map((entry) => entry.address);
  const v4 = [...(readOptional("/proc/net/fib_trie") ?? "").matchAll(/\|-- (\S+)\s+\/32 host LOCAL/g)].map(
    ([, address = ""]) => address,
  );
  const v6 = (readOptional("/proc/net/if_inet6") ?? "").split("\n").flatMap((line) => {
    const [hex = ""] = line.split(" ");
    return hex.length === 32 ? [formatIp(Buffer.from(hex, "hex"))] : [];
  });
  return [...new Set([...ofFamily("IPv4"), ...v4, ...ofFamily("IPv6"), ...v6])];
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** 0 done, 1 refused or failed, 126 where rules do not capture; 255 for a command line that cannot be read, as pilot-agent exits. */
export async function runCapture(
  argv: readonly string[],
  around: CaptureSurroundings,
  output: CaptureOutput,
  createHost: (config: CaptureConfig) => CaptureHost["run"],
): Promise<number> {
  try {
    const config = parseCaptureFlags(argv, around);
    checkCapture(config);
    const program = config.nativeNftables ? "nftables" : "iptables";
    if (config.dryRun) output.write("info", `running ${program} in dry-run mode, no rule changes will be made`);
    if (!config.skipRuleApply) await applyOrTell(config, around, output, createHost);
    return config.runValidation && !config.cleanupOnly && !config.dryRun ? await validate(config, output) : 0;
  } catch (error) {
    const known = FairleadError.from(error);
    output.write("error", known.hint === undefined ? known.message : `${known.message} (${known.hint})`);
    return known.code === "usage" ? 255 : 1;
  }
}

async function applyOrTell(
  config: CaptureConfig,
  around: CaptureSurroundings,
  output: CaptureOutput,
  createHost: (config: CaptureConfig) => CaptureHost["run"],
): Promise<void> {
  if (!config.dryRun) await applyForReal(config, around, output, createHost);
  else if (config.nativeNftables) dryRunNft(config, around, output);
  else dryRun(config, around, output);
}

/** As Istio's: its init container ends with this status, and the Pod is started elsewhere or again. */
const validationFailed = 126;

async function validate(config: CaptureConfig, output: CaptureOutput): Promise<number> {
  const log = (message: string): void => output.write("info", message);
  try {
    await validateCapture(config, log);
    return 0;
  } catch (error) {
    const { message, hint } = FairleadError.from(error);
    output.write(
      "error",
      `capture validation failed; the workload is not ready for the mesh: ${message}${hint === undefined ? "" : ` (${hint})`}`,
    );
    return validationFailed;
  }
}

function dryRun(config: CaptureConfig, around: CaptureSurroundings, output: CaptureOutput): void {
  const info = (message: string): void => output.write("info", message);
  try {
    const rules = buildCaptureRules(config);
    describe(config, around, output);
    info("Clean-state detected, new iptables are needed");
    if (config.cleanupOnly) info("Performing cleanup of existing iptables");
    else {
      info("Applying iptables chains and rules");
      info(
        `Running iptables restore with: iptables-restore and the following input:\n${formatRestore(rules.v4).trim()}`,
      );
      if (config.enableIpv6)
        info(
          `Running iptables restore with: ip6tables-restore and the following input:\n${formatRestore(rules.v6).trim()}`,
        );
    }
  } finally {
    info("Final iptables state (IPv4):\n");
    if (config.enableIpv6) info("Final iptables state (IPv6):\n");
  }
  info("skipping configuring routes due to dry run mode");
}

function dryRunNft(config: CaptureConfig, around: CaptureSurroundings, output: CaptureOutput): void {
  const input = config.cleanupOnly ? formatNftCleanup() : formatNft(buildCaptureRules(config));
  describe(config, around, output);
  output.write("info", `Running nft -f - with the following input:\n${input.trim()}`);
  output.write("info", "skipping configuring routes due to dry run mode");
}

async function applyForReal(
  config: CaptureConfig,
  around: CaptureSurroundings,
  output: CaptureOutput,
  createHost: (config: CaptureConfig) => CaptureHost["run"],
): Promise<void> {
  describe(config, around, output);
  await applyCapture(config, { run: createHost(config), log: (message) => output.write("info", message) });
}

function describe(config: CaptureConfig, around: CaptureSurroundings, output: CaptureOutput): void {
  if (config.redirectDns && !config.captureAllDns && config.dnsServersV4.length + config.dnsServersV6.length === 0)
    output.write(
      "warn",
      "REDIRECT_DNS is set, but CAPTURE_ALL_DNS is false, and no DNS servers provided. DNS capture disabled.",
    );
  output.write("info", describeEnvironment(around.env));
  output.write("info", describeConfig(config));
}

function parseNameservers(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([word, server]) => (word === "nameserver" && server !== undefined ? [server] : []));
}

function parseUserId(passwd: string, name: string): string | undefined {
  const entry = passwd.split("\n").find((line) => line.startsWith(`${name}:`));
  return entry?.split(":")[2];
}
