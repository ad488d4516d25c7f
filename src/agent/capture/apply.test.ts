import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../../../test/require.ts";
import { applyCapture, createRunCommand } from "./apply.ts";
import { type CaptureConfig, defaultCapture } from "./config.ts";

const name = `fairlead-cap-${process.pid}`;
const file = `/run/netns/${name}`;
const ip = (...args: readonly string[]): string => {
  const run = spawnSync("ip", args, { encoding: "utf8" });
  if (run.status !== 0) throw new Error(`ip ${args.join(" ")}: ${run.stderr}`);
  return run.stdout;
};
const inside = (...command: readonly string[]): string => ip("netns", "exec", name, ...command);
const saved = (): string =>
  inside("iptables-save")
    .replace(/^#.*\n/gm, "")
    .replace(/\[\d+:\d+\]/g, "");

const config: CaptureConfig = {
  ...defaultCapture,
  proxyUid: "1337",
  proxyGid: "1337",
  inboundPortsInclude: "*",
  inboundPortsExclude: "15020",
  outboundIpRangesInclude: "*",
  excludeInterfaces: "eth9",
};
const apply = (changes: Partial<CaptureConfig> = {}): Promise<void> =>
  applyCapture({ ...config, ...changes }, { run: createRunCommand(file), log: () => {} });

/** Listens on the capture port inside the namespace and says to which port a caller really came; a real listener, no Envoy. */
const listener = `
const net = require("node:net");
net.createServer((s) => s.end("captured by " + s.localPort)).listen(15001, "0.0.0.0", () => console.log("ready"));
net.createServer((s) => s.end("captured by " + s.localPort)).listen(15006, "0.0.0.0");
net.createServer((s) => s.end("application on " + s.localPort)).listen(8080, "0.0.0.0");
net.createServer((s) => s.end("health on " + s.localPort)).listen(15020, "0.0.0.0");`;
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
const callFromOutside = (port: number): string =>
  spawnSync(process.execPath, ["-e", caller("10.213.0.2", port)], { encoding: "utf8" }).stdout.trim();

describe.skipIf(lacks("root", "iptables"))("capture in a network namespace", () => {
  let server: ReturnType<typeof spawn>;
  beforeAll(async () => {
    ip("netns", "add", name);
    ip("link", "add", `fcap${process.pid}`, "type", "veth", "peer", "name", "eth0", "netns", name);
    ip("addr", "add", "10.213.0.1/24", "dev", `fcap${process.pid}`);
    ip("link", "set", `fcap${process.pid}`, "up");
    inside("ip", "addr", "add", "10.213.0.2/24", "dev", "eth0");
    inside("ip", "link", "set", "eth0", "up");
    inside("ip", "link", "set", "lo", "up");
    inside("ip", "route", "add", "default", "via", "10.213.0.1");
    server = spawn("ip", ["netns", "exec", name, process.execPath, "-e", listener], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (server.stdout) await once(server.stdout, "data");
  });
  afterAll(async () => {
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
    ip("netns", "del", name);
  });

  test("without rules traffic goes where it is sent", () => {
    expect(callFromOutside(8080)).toBe("application on 8080");
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
    inside("iptables", "-t", "nat", "-A", "OUTPUT", "-p", "tcp", "--dport", "9", "-j", "ACCEPT");
    await apply();
    await apply({ cleanupOnly: true });
    const left = saved();
    expect(left).not.toContain("ISTIO_");
    expect(left).not.toContain("eth9");
    expect(left).toContain("--dport 9 -j ACCEPT");
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
    expect(saved()).not.toContain("ISTIO_");
  });
});
