import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../../../test/require.ts";
import { applyCapture, createRunCommand } from "./apply.ts";
import { type CaptureConfig, defaultCapture } from "./config.ts";

const root = join(import.meta.dirname, "../../..");
const name = `fairlead-cap-${process.pid}`;
const file = `/run/netns/${name}`;
const ip = (...args: readonly string[]): string => {
  const run = spawnSync("ip", args, { encoding: "utf8" });
  if (run.status !== 0) throw new Error(`ip ${args.join(" ")}: ${run.stderr}`);
  return run.stdout;
};
const inside = (...command: readonly string[]): string => ip("netns", "exec", name, ...command);
/** Whoever calls from elsewhere has a namespace too: what the machine itself allows is not asked. */
const elsewhere = `${name}-out`;
const outside = (...command: readonly string[]): string => ip("netns", "exec", elsewhere, ...command);
/** A kernel may be without. */
const hasIpv6 = existsSync("/proc/net/if_inet6");

const config: CaptureConfig = {
  ...defaultCapture,
  proxyUid: "1337",
  proxyGid: "1337",
  inboundPortsInclude: "*",
  inboundPortsExclude: "15020",
  outboundIpRangesInclude: "*",
  excludeInterfaces: "eth9",
  enableIpv6: hasIpv6,
};

/** The two programs that rules are applied with; what each says is there, and a rule of somebody else's. */
const programs = [
  {
    program: "iptables",
    native: false,
    saved: (): string =>
      ["iptables-save", ...(hasIpv6 ? ["ip6tables-save"] : [])]
        .map((program) => inside(program))
        .join("")
        .replace(/^#.*\n/gm, "")
        .replace(/\[\d+:\d+\]/g, ""),
    addOther: () => inside("iptables", "-t", "nat", "-A", "OUTPUT", "-p", "tcp", "--dport", "9", "-j", "ACCEPT"),
  },
  {
    program: "nft",
    native: true,
    saved: (): string => inside("nft", "-s", "list", "ruleset"),
    addOther: () => inside("nft", "add table inet other { chain c { tcp dport 9 accept ; } ; }"),
  },
] as const;

/** Listens on the capture port inside the namespace and says to which port a caller really came; a real listener, no Envoy. */
const listener = `
const net = require("node:net");
const serve = (port, say) => new Promise((done) => net.createServer((s) => s.end(say + " " + s.localPort)).listen(port, "${hasIpv6 ? "::" : "0.0.0.0"}", done));
Promise.all([serve(15001, "captured by"), serve(15006, "captured by"), serve(8080, "application on"), serve(15020, "health on")])
  .then(() => console.log("ready"));`;
const caller = (host: string, port: number): string => `
const s = require("node:net").connect(${port}, "${host}");
let text = ""; s.on("data", (d) => (text += d)); s.on("close", () => console.log(text)); s.on("error", (e) => (text = e.code)); s.setTimeout(3000, () => { text = "timeout"; s.destroy(); });`;
const callFromInside = (host: string, port: number, uid: number): string =>
  inside(
    "setpriv",
    `--reuid=${uid}`,
    `--regid=${uid}`,
    "--clear-groups",
    process.execPath,
    "-e",
    caller(host, port),
  ).trim();
const callFromOutside = (port: number, host = "10.213.0.2"): string =>
  outside(process.execPath, "-e", caller(host, port)).trim();

describe.skipIf(lacks("root", "iptables", "nft"))("capture in a network namespace", () => {
  let server: ReturnType<typeof spawn>;
  beforeAll(async () => {
    ip("netns", "add", name);
    ip("netns", "add", elsewhere);
    ip("-n", elsewhere, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", name);
    for (const [at, number] of [
      [outside, 1],
      [inside, 2],
    ] as const) {
      at("ip", "addr", "add", `10.213.0.${number}/24`, "dev", "eth0");
      if (hasIpv6) at("ip", "addr", "add", `fd13::${number}/64`, "dev", "eth0", "nodad");
      at("ip", "link", "set", "eth0", "up");
      at("ip", "link", "set", "lo", "up");
    }
    inside("ip", "route", "add", "default", "via", "10.213.0.1");
    if (hasIpv6) inside("ip", "-6", "route", "add", "default", "via", "fd13::1");
    server = spawn("ip", ["netns", "exec", name, process.execPath, "-e", listener], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (server.stdout) await once(server.stdout, "data");
  });
  afterAll(async () => {
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
    for (const one of [name, elsewhere]) ip("netns", "del", one);
  });

  describe.each(programs)("by $program", ({ native, saved, addOther }) => {
    const apply = (changes: Partial<CaptureConfig> = {}): Promise<void> =>
      applyCapture({ ...config, nativeNftables: native, ...changes }, { run: createRunCommand(file), log: () => {} });

    test("without rules traffic goes where it is sent", () => {
      expect(callFromOutside(8080)).toBe("application on 8080");
      if (hasIpv6) expect(callFromOutside(8080, "fd13::2")).toBe("application on 8080");
    });

    test("with rules, inbound and outbound are captured, and what is exempt is not", async () => {
      await apply();
      expect(callFromOutside(8080)).toBe("captured by 15006");
      expect(callFromOutside(15020)).toBe("health on 15020");
      expect(callFromInside("198.51.100.7", 80, 1000)).toBe("captured by 15001");
      expect(callFromInside("127.0.0.1", 8080, 1000)).toBe("application on 8080");
      expect(callFromInside("10.213.0.2", 8080, 1337)).toBe("captured by 15006");
      expect(callFromInside("127.0.0.1", 8080, 1337)).toBe("application on 8080");
    });

    const byIpv6 = hasIpv6 ? test : () => {};
    byIpv6("the same by IPv6; without rules for it, it is left alone", async () => {
      await apply();
      expect(callFromOutside(8080, "fd13::2")).toBe("captured by 15006");
      expect(callFromInside("2001:db8::7", 80, 1000)).toBe("captured by 15001");
      expect(callFromInside("::1", 8080, 1000)).toBe("application on 8080");
      expect(callFromInside("fd13::2", 8080, 1337)).toBe("captured by 15006");
      await apply({ cleanupOnly: true });
      await apply({ enableIpv6: false });
      expect(callFromOutside(8080)).toBe("captured by 15006");
      expect(callFromOutside(8080, "fd13::2")).toBe("application on 8080");
    });

    test("applying again changes nothing; another configuration takes the place of the first", async () => {
      await apply();
      const first = saved();
      await apply();
      expect(saved()).toBe(first);
      await apply({ inboundPortsInclude: "8081", outboundIpRangesInclude: "" });
      expect(callFromOutside(8080)).toBe("application on 8080");
      await apply();
      expect(saved()).toBe(first);
    });

    test("cleaning up leaves nothing of ours and all of others, however often it is done", async () => {
      addOther();
      await apply();
      await apply({ cleanupOnly: true });
      const left = saved();
      expect(left).not.toMatch(/istio/i);
      expect(left).not.toContain("eth9");
      expect(left).toMatch(/dport 9 /);
      await apply({ cleanupOnly: true });
      expect(saved()).toBe(left);
      expect(callFromOutside(8080)).toBe("application on 8080");
    });

    test("TPROXY rules and their route are applied once", async () => {
      await apply({ inboundInterceptionMode: "TPROXY" });
      await apply({ inboundInterceptionMode: "TPROXY" });
      expect(inside("ip", "rule", "show", "fwmark", "1337").trim().split("\n")).toHaveLength(1);
      expect(inside("ip", "route", "show", "table", "133")).toContain("local default dev lo");
      await apply({ inboundInterceptionMode: "TPROXY", cleanupOnly: true });
      expect(saved()).not.toMatch(/istio/i);
    });

    test("--run-validation says by its status whether the kernel captures", () => {
      const iptables = (...flags: readonly string[]) => {
        const main = [
          process.execPath,
          join(root, "dist/main.js"),
          "iptables",
          ...(native ? ["--native-nftables"] : []),
        ];
        // Ports that nobody listens on here, as before Envoy has started.
        const own = [
          "-p",
          "16001",
          "-z",
          "16006",
          "-u",
          "1337",
          "-g",
          "1337",
          "-i",
          "*",
          "-b",
          "*",
          ...(hasIpv6 ? ["--dual-stack"] : []),
        ];
        const run = spawnSync("ip", ["netns", "exec", name, ...main, ...own, ...flags], { encoding: "utf8" });
        return { status: run.status, text: run.stdout + run.stderr };
      };
      expect(iptables("--run-validation")).toMatchObject({
        status: 0,
        text: expect.stringContaining("Validation passed"),
      });
      expect(iptables("--skip-rule-apply", "--run-validation")).toMatchObject({ status: 0 });
      expect(iptables("--cleanup-only", "--run-validation")).toMatchObject({ status: 0 });
      const again = iptables("--skip-rule-apply", "--run-validation", "--probe-timeout", "100ms");
      expect(again).toMatchObject({ status: 126, text: expect.stringContaining("127.0.0.6:15002 is not captured") });
      const taken = iptables("--skip-rule-apply", "--run-validation", "-p", "15001");
      expect(taken).toMatchObject({ status: 126, text: expect.stringContaining("cannot be listened on") });
    });
  });
});
