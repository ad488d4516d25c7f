import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { recordedCases } from "../../../test/conformance/corpus.ts";
import { isRecord, parseJson } from "../../lib/index.ts";
import { runCapture } from "./command.ts";
import type { CaptureSurroundings } from "./flags.ts";
import { formatCaptureRecord } from "./print.ts";

const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

interface Outcome {
  readonly rc: number;
  readonly restore: Record<string, readonly string[]>;
  readonly text: string;
}

async function dryRun(args: readonly string[], around: Partial<CaptureSurroundings> = {}): Promise<Outcome> {
  const restore: Record<string, readonly string[]> = {};
  let text = "";
  const write = (level: string, message: string): void => {
    text += `${level}\t${message}\n`;
    const match = /^Running iptables restore with: (\S+) and the following input:\n/.exec(message);
    if (match?.[1] !== undefined) restore[match[1]] = message.slice(match[0].length).split("\n");
  };
  const surroundings = {
    env: {},
    addresses: ["10.244.0.5"],
    nameservers: () => ["10.96.0.10"],
    userId: () => undefined,
    ...around,
  };
  const rc = await runCapture(args, surroundings, { write }, () => {
    throw new Error("a dry run called a program");
  });
  return { rc, restore, text };
}

describe("capture rules equal those of istio-iptables", () => {
  const cases = recordedCases("iptables", "args.json").map(({ name, dir }) => [name, dir] as const);
  test.each(cases)("%s", async (_, dir) => {
    const read = (file: string): Readonly<Record<string, unknown>> => {
      const value = parseJson(readFileSync(join(dir, file), "utf8"));
      if (!isRecord(value)) throw new Error(`${file} is no object`);
      return value;
    };
    const [input, expected] = [read("args.json"), read("expected.json")];
    const env = isRecord(input.env)
      ? Object.fromEntries(Object.entries(input.env).map(([key, value]) => [key, String(value)]))
      : {};
    const actual = await dryRun(texts(input.args).slice(1), {
      env,
      addresses: ["127.0.0.1", ...texts(input.podIPs).map((cidr) => cidr.split("/")[0] ?? "")],
      nameservers: () => texts(input.resolvConfNameservers),
    });
    expect(actual.rc).toBe(expected.rc);
    expect(actual.restore).toEqual(expected.restore);
    expect(actual.text).toBe(readFileSync(join(dir, "expected.txt"), "utf8"));
  });
});

describe("capture flags", () => {
  test("are read as pflag reads them", async () => {
    const forms = [
      ["-n", "-b", "80", "-p", "1"],
      ["-nb80", "-p1"],
      ["-n", "-b=80", "--envoy-port=1"],
      ["--dry-run=true", "--istio-inbound-ports", "80", "--envoy-port", "1"],
    ];
    const outcomes = await Promise.all(forms.map((form) => dryRun(form)));
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome.restore))).size).toBe(1);
    expect(outcomes[0]?.restore["iptables-restore"]).toContain(
      "-A ISTIO_INBOUND -p tcp --dport 80 -j ISTIO_IN_REDIRECT",
    );
  });

  test.each([
    [["--nonsense"]],
    [["-y"]],
    [["-n", "--dual-stack=perhaps"]],
    [["-n", "-p"]],
    [["-n", "--iptables-probe-port", "70000"]],
  ])("%j is refused as usage", async (args) => expect((await dryRun(args)).rc).toBe(255));

  test.each([
    ["a loopback range that is none", { env: { ISTIO_OUTBOUND_IPV4_LOOPBACK_CIDR: "10.0.0.0/8" } }, []],
    [
      "too many owner groups",
      { env: { ISTIO_OUTBOUND_OWNER_GROUPS: Array.from({ length: 65 }, (_, i) => i).join(",") } },
      [],
    ],
    ["no address but loopback", { addresses: ["127.0.0.1", "::1", "fe80::1"] }, []],
    ["everything excluded", {}, ["-x", "*"]],
    ["an unknown flavour", {}, ["--force-iptables-binary", "other"]],
    ["a rule smuggled in by a line break", {}, ["-b", "80\n-A OUTPUT -j DROP"]],
  ] as const)("%s is refused", async (_, around, args) => {
    const outcome = await dryRun(["-n", ...args], around);
    expect(outcome.rc).toBe(1);
    expect(outcome.restore).toEqual({});
  });

  test("all DNS is captured without knowing a server, in both families", async () => {
    const { restore } = await dryRun(["-n", "--redirect-dns", "--capture-all-dns"], {
      addresses: ["fd00::5"],
      nameservers: () => [],
    });
    for (const program of ["iptables-restore", "ip6tables-restore"])
      expect(restore[program]).toContain("-A ISTIO_OUTPUT_DNS -p udp --dport 53 -j REDIRECT --to-port 15053");
  });

  test("rules of nft: each family meets its own in the same order, and what both have is there once", async () => {
    const args = [
      "-n",
      "--native-nftables",
      "-u",
      "7",
      "-g",
      "7",
      "-i",
      "10.0.0.0/8,fd00::/8",
      "-o",
      "9:10",
      "-c",
      "eth+",
    ];
    const { rc, restore, text } = await dryRun(args, { addresses: ["fd00::5"] });
    expect([rc, restore]).toEqual([0, {}]);
    const chain = (name: string): readonly string[] =>
      (new RegExp(`chain ${name} \\{\\n([^}]*)\\n +\\}`).exec(text)?.[1] ?? "").split("\n").map((line) => line.trim());
    expect(chain("output")).toEqual([
      "type nat hook output priority -100;",
      'oifname "eth*" counter return',
      "counter jump istio-output",
    ]);
    const self = (loopback: string, owner: string): string =>
      `oifname "lo" ${loopback} meta l4proto tcp tcp dport != 15008 meta ${owner} 7 counter jump istio-in-redirect`;
    expect(chain("istio-output")).toEqual([
      "meta l4proto tcp tcp dport 9-10 counter return",
      "meta l4proto udp udp dport 9-10 counter return",
      'oifname "lo" ip saddr 127.0.0.6/32 counter return',
      self("ip daddr != 127.0.0.1/32", "skuid"),
      'oifname "lo" ip6 saddr ::6/128 counter return',
      self("ip6 daddr != ::1/128", "skuid"),
      'oifname "lo" meta skuid != 7 counter return',
      "meta skuid 7 counter return",
      self("ip daddr != 127.0.0.1/32", "skgid"),
      self("ip6 daddr != ::1/128", "skgid"),
      'oifname "lo" meta skgid != 7 counter return',
      "meta skgid 7 counter return",
      "ip daddr 127.0.0.1/32 counter return",
      "ip daddr 10.0.0.0/8 counter jump istio-redirect",
      "ip6 daddr ::1/128 counter return",
      "ip6 daddr fd00::/8 counter jump istio-redirect",
    ]);
  });

  test.each(["--cleanup", "--cleanup-only"])("%s makes no rule", async (flag) => {
    expect((await dryRun(["-n", flag])).text).toContain("Performing cleanup of existing iptables");
    const { text } = await dryRun(["-n", flag, "--native-nftables"]);
    expect(text).toContain("delete table inet istio-proxy-nat");
    expect(text).not.toContain("chain");
  });

  test("rules of nft leave IPv6 alone where the Pod has none, as those of iptables do", async () => {
    const { text } = await dryRun(["-n", "--native-nftables"]);
    expect(text).toMatch(/hook output priority -100;\n +meta nfproto ipv6 return\n/);
  });

  test.each([
    ["a port", ["-b", "80 accept; flush ruleset"]],
    ["a port", ["-p", "15001;"]],
    ["an interface", ["-c", 'x" drop']],
    ["an interface", ["-k", "a}"]],
    ["a user", ["-u", "0 accept"]],
    ["a mark", ["-m", "TPROXY", "-b", "*", "-t", "1 accept"]],
  ])("what would end a rule of nft and begin another is refused: %s", async (_, args) => {
    const { rc, text } = await dryRun(["-n", "--native-nftables", ...args]);
    expect(rc).toBe(1);
    expect(text).not.toContain("nft -f -");
  });

  test("an asked-for loopback range is captured", async () => {
    const { restore } = await dryRun(["-n", "-i", "127.0.0.0/8,10.1.2.3/8"]);
    expect(restore["iptables-restore"]?.some((line) => line.includes("! --uid-owner"))).toBe(false);
    expect(restore["iptables-restore"]).toContain("-A ISTIO_OUTPUT -d 10.1.2.3/8 -j ISTIO_REDIRECT");
  });
});

test("a printed record keeps its line breaks and escapes other control characters", () => {
  const text = formatCaptureRecord(new Date(0), "info", "input:\n* nat\n-N \u001b[31mX");
  expect(text).toBe("1970-01-01T00:00:00.000Z\tinfo\tinput:\n* nat\n-N \\u001b[31mX\n");
});
