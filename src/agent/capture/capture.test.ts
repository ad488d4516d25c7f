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

  test("nftables are written to, in both families, where a user asks for them", async () => {
    const called: string[] = [];
    const around = { env: {}, addresses: ["fd00::5"], nameservers: () => [], userId: () => undefined };
    const levels: string[] = [];
    const write = (level: string): void => void levels.push(level);
    const rc = await runCapture(["--native-nftables"], around, { write }, () => async (program) => {
      called.push(program);
      return { status: 0, stdout: "", stderr: "" };
    });
    expect([rc, called.filter((program) => program.includes("tables"))]).toEqual([
      0,
      ["iptables-nft-save", "iptables-nft-restore", "ip6tables-nft-save", "ip6tables-nft-restore"],
    ]);
    expect(levels).toContain("warn");
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
