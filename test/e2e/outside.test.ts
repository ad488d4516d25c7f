/** Processes of `run` and the world outside, played by a namespace behind the one that plays this machine. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lacks } from "../require.ts";
import { anyPort, root, type Started, startFairlead } from "./fairlead.ts";

const [machine, outside] = [`flm${process.pid}`, `flo${process.pid}`];
const ip = (...args: readonly string[]): string => execFileSync("ip", [...args], { encoding: "utf8" });

/** Two servers outside: one says who asks, the other knows its name. */
const world = `
  const { createServer } = require("node:http");
  const { createSocket } = require("node:dgram");
  const { decode, encode } = require("dns-packet");
  const dns = createSocket("udp4");
  dns.on("message", (data, { address, port }) => {
    const { id, questions } = decode(data);
    const [{ name, type }] = questions;
    const known = name === "www.outside.example" && type === "A";
    const answers = known ? [{ type: "A", name, ttl: 1, data: "203.0.113.7" }] : [];
    dns.send(encode({ id, type: "response", questions, answers, flags: known ? 0 : 3 }), port, address);
  });
  const answer = (request, response) => response.end("you are " + request.socket.remoteAddress);
  dns.bind(53, "198.51.100.1", () =>
    createServer(answer).listen(80, "203.0.113.7", () =>
      createServer(answer).listen(80, "169.254.169.254", () => console.log("ready"))));
`;

const urls = {
  "by name": "http://www.outside.example/",
  "by address": "http://203.0.113.7/",
  unknown: "http://nobody.example/",
  metadata: "http://169.254.169.254/",
};
/** Says what is answered at each, or why nothing is; packets that nobody forwards are waited for as long as `fetch` does. */
const client = (...names: readonly (keyof typeof urls)[]): string => `
  const say = (url) => fetch(url).then((answer) => answer.text(), ({ cause }) => cause.code);
  (async () => {
    for (const [name, url] of ${JSON.stringify(names.map((name) => [name, urls[name]]))})
      console.log(name + ": " + await say(url));
  })();
`;

describe.skipIf(lacks("root", "envoy", "iptables"))("outside", () => {
  let data: string;
  let server: ChildProcess;
  const running: Started[] = [];

  beforeEach(async () => {
    data = mkdtempSync(join(tmpdir(), "fairlead-outside-"));
    for (const namespace of [machine, outside]) {
      ip("netns", "add", namespace);
      ip("-n", namespace, "link", "set", "lo", "up");
    }
    ip("-n", machine, "link", "add", "up0", "type", "veth", "peer", "name", "down0", "netns", outside);
    for (const [namespace, device, address] of [
      [machine, "up0", "198.51.100.2/24"],
      [outside, "down0", "198.51.100.1/24"],
      [outside, "lo", "203.0.113.7/32"],
      [outside, "lo", "169.254.169.254/32"],
    ] as const) {
      ip("-n", namespace, "addr", "add", address, "dev", device);
      ip("-n", namespace, "link", "set", device, "up");
    }
    ip("-n", machine, "route", "add", "default", "via", "198.51.100.1");
    // A new namespace takes it from this machine, where a mesh of another test may have it on.
    ip("netns", "exec", machine, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_forward");
    mkdirSync(`/etc/netns/${machine}`, { recursive: true });
    writeFileSync(`/etc/netns/${machine}/resolv.conf`, "nameserver 198.51.100.1\n");
    server = spawn("ip", ["netns", "exec", outside, process.execPath, "-e", world], { cwd: root, stdio: "pipe" });
    await new Promise((resolve) => server.stdout?.once("data", resolve));
  });
  afterEach(async () => {
    for (const { child, exited } of running.splice(0)) {
      child.kill("SIGINT");
      await exited;
    }
    server.kill("SIGKILL");
    for (const namespace of [machine, outside]) ip("netns", "del", namespace);
    rmSync(`/etc/netns/${machine}`, { recursive: true });
    rmSync(data, { recursive: true, force: true });
  });

  /** Rules and chains; the kernel's own chains come with their tables. */
  const rules = (): readonly string[] =>
    ip("netns", "exec", machine, "iptables-save")
      .split("\n")
      .filter((line) => /^-A|^:.* - /.test(line));
  const forwards = (): string => ip("netns", "exec", machine, "cat", "/proc/sys/net/ipv4/ip_forward").trim();

  async function up(...flags: readonly string[]): Promise<Started> {
    const started = startFairlead(["up", "--data", data, ...anyPort, ...flags], {}, ["ip", "netns", "exec", machine]);
    running.push(started);
    await started.until("ready\n");
    return started;
  }
  /** What a process of `run` prints. */
  async function seen(mesh: Started, script: string): Promise<string> {
    // With its root, which inside a chroot is not that of the mount namespace.
    const beside = ["nsenter", `--target=${mesh.child.pid}`, "--net", "--mount", "--root", "--wd", "--"];
    const args = ["run", "--data", data, "--name", "client", "--", process.execPath, "-e", script];
    const started = startFairlead(args, {}, beside);
    await started.exited;
    return started.stderr();
  }

  test("names are asked of this machine's servers, and traffic leaves under its address; all is taken back", async () => {
    ip("netns", "exec", machine, "iptables", "-A", "FORWARD", "-i", "own0", "-j", "DROP");
    const before = rules();
    expect(before).toHaveLength(1);
    const mesh = await up("--outside");
    const said = await seen(mesh, client("by name", "by address", "unknown", "metadata"));
    expect(said).toContain("by name: you are 198.51.100.2");
    expect(said).toContain("by address: you are 198.51.100.2");
    expect(said).toContain("unknown: ENOTFOUND");
    expect(said).not.toContain("metadata: you are");
    expect(forwards()).toBe("1");
    mesh.child.kill("SIGINT");
    expect(await mesh.exited).toBe(0);
    expect(rules()).toEqual(before);
    expect(forwards()).toBe("0");
  });

  test("who has begun to forward meanwhile goes on", async () => {
    const mesh = await up("--outside");
    ip("netns", "exec", machine, "iptables", "-I", "FORWARD", "-i", "engine0", "-j", "ACCEPT");
    mesh.child.kill("SIGINT");
    expect(await mesh.exited).toBe(0);
    expect(rules()).toEqual([expect.stringContaining("engine0")]);
    expect(forwards()).toBe("1");
  });

  test("--no-outside leaves the machine as it is, and refuses names", async () => {
    const mesh = await up("--no-outside");
    expect(rules()).toEqual([]);
    expect(forwards()).toBe("0");
    expect(await seen(mesh, client("by name"))).toMatch(/by name: (EAI_AGAIN|ENOTFOUND)/);
  });
});
