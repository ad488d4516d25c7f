/**
 * The plan of a mesh network in; a way from its Pods to addresses outside, through this machine and under its address,
 * out. Nothing else is forwarded that was not before, and nobody outside gets a way to the Pods.
 */
import { readFile, writeFile } from "node:fs/promises";
import { createRunCommand } from "../../agent/index.ts";
import { digest, FairleadError } from "../../lib/index.ts";
import type { Journal, Leftover } from "../journal.ts";
import { ip } from "./ip.ts";
import { hostDevice } from "./mesh-network.ts";
import type { NetworkPlan } from "./plan.ts";

const forwarding = "/proc/sys/net/ipv4/ip_forward";
/** Marks the rule that stands for "forwarding was off": it keeps everything off that is not ours. Who forwarded then follows. */
const wasOff = "fairlead: forwarding was off";
/** Where clouds keep instance metadata, with credentials in it: for this machine, not for what runs in the mesh. */
const notForPods = "169.254.0.0/16";

const run = createRunCommand();

/** Undefined where it is open; else why this machine has none. */
export async function openWayOut(plan: NetworkPlan, journal: Journal): Promise<string | undefined> {
  if ((await ip("-4", "route", "show", "default")) === "") return "this machine has no default route";
  const item: Leftover = { kind: "way-out", name: plan.prefix };
  // Of an earlier `up` that was killed.
  await closeWayOut(plan.prefix);
  journal.add(item);
  const isOn = (await readFile(forwarding, "utf8")).trim() === "1";
  await restore(rulesOf(plan, isOn ? undefined : forwarders((await run("iptables-save", [])).stdout)));
  if (!isOn) await writeFile(forwarding, "1");
  return undefined;
}

/** What others forward, in short: it differs once one of them has begun or ended. */
function forwarders(saved: string): string {
  const others = saved
    .split("\n")
    .filter((line) => /^-A (FORWARD|POSTROUTING) /.test(line) && !line.includes('--comment "fairlead'));
  return others.length === 0 ? nobody : digest(others.join("\n")).slice(0, 8);
}

const nobody = "nobody";

function rulesOf(plan: NetworkPlan, others: string | undefined): readonly string[] {
  const [chain, device] = [plan.prefix, hostDevice(plan)];
  const ours = `-m comment --comment "fairlead ${plan.prefix}"`;
  return [
    "*filter",
    `:${chain} - [0:0]`,
    `-A ${chain} -i ${device} -d ${notForPods} -j REJECT`,
    `-A ${chain} -i ${device} -s ${plan.podCidr} -j ACCEPT`,
    `-A ${chain} -o ${device} -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT`,
    `-A ${chain} -i ${device} -j DROP`,
    `-A ${chain} -o ${device} -j DROP`,
    `-I FORWARD ${ours} -j ${chain}`,
    ...(others === undefined ? [] : [`-A FORWARD -m comment --comment "${wasOff}, ${others}" -j DROP`]),
    "COMMIT",
    "*nat",
    `-A POSTROUTING -s ${plan.podCidr} ! -o ${device} ${ours} -j MASQUERADE`,
    "COMMIT",
  ];
}

/**
 * Whoever is the last to leave turns forwarding off again, where it was off before the first came: unless somebody else,
 * a container engine say, has begun to forward since, and found it on.
 */
export async function closeWayOut(prefix: string): Promise<void> {
  const { status, stdout } = await run("iptables-save", []);
  if (status !== 0) return;
  const tables = parseTables(stdout);
  const isOurs = (rule: string): boolean => rule.includes(`--comment "fairlead ${prefix}"`);
  const isAnothers = (rule: string): boolean => /--comment "fairlead fl/.test(rule) && !isOurs(rule);
  const isLast = ![...tables.values()].flat().some(isAnothers);
  const goes = (rule: string): boolean => isOurs(rule) || (isLast && rule.includes(`--comment "${wasOff}`));
  const removal = [...tables].flatMap(([table, rules]) => {
    const lines = rules.filter((rule) => rule.startsWith("-A ") && goes(rule)).map((rule) => `-D ${rule.slice(3)}`);
    if (rules.some((rule) => rule.startsWith(`:${prefix} `))) lines.push(`-F ${prefix}`, `-X ${prefix}`);
    return lines.length === 0 ? [] : [`*${table}`, ...lines, "COMMIT"];
  });
  const [, before] = new RegExp(`--comment "${wasOff}, (\\w+)"`).exec(stdout) ?? [];
  const now = forwarders(stdout);
  const turnsOff = isLast && before !== undefined && (now === nobody || now === before);
  // First no way, then no guard.
  if (turnsOff) await writeFile(forwarding, "0");
  if (removal.length > 0) await restore(removal);
}

/** The lines of iptables-save, by table. */
function parseTables(text: string): ReadonlyMap<string, readonly string[]> {
  const tables = new Map<string, string[]>();
  let current: string[] = [];
  for (const line of text.split("\n"))
    if (line.startsWith("*")) {
      current = [];
      tables.set(line.slice(1), current);
    } else if (line.startsWith(":") || line.startsWith("-A ")) current.push(line);
  return tables;
}

async function restore(lines: readonly string[]): Promise<void> {
  const { status, stderr } = await run("iptables-restore", ["--noflush", "-w", "10"], `${lines.join("\n")}\n`);
  if (status !== 0) throw new FairleadError("internal", `iptables-restore: ${stderr.trim()}`);
}
