/** `fairlead up` as a person meets it: what it prints, what it keeps, and what it says when something is wrong. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { createKubeClient, type KindRef, loadKubeconfig } from "../../src/kube/index.ts";
import { planNetwork } from "../../src/standalone/index.ts";
import { lacks } from "../require.ts";
import { addressesOf, anyPort, fairlead, type Started, startFairlead } from "./fairlead.ts";

const work = mkdtempSync(join(tmpdir(), "fairlead-up-"));
const running = new Set<Started>();
afterEach(async () => {
  for (const one of running) one.child.kill("SIGTERM");
  await Promise.all([...running].map((one) => one.exited));
  running.clear();
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

const configMaps: KindRef = { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true };

async function up(data: string, ...flags: readonly string[]): Promise<Started> {
  const started = startFairlead(["up", "--data", data, ...anyPort, ...flags]);
  running.add(started);
  await started.until("ready\n");
  return started;
}

async function clientOf(data: string) {
  return createKubeClient(await loadKubeconfig({ paths: [join(data, "kubeconfig")], env: {} }));
}

describe("up", { timeout: 300_000 }, () => {
  test("prints one line on stdout, says where everything is, and ends in order", async () => {
    const data = join(work, "plain");
    const started = await up(data);
    expect(started.stdout()).toBe("ready\n");
    const addresses = addressesOf(data);
    for (const name of ["api", "grpc", "secureGrpc", "monitoring", "https", "http"])
      expect(addresses[name], name).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(addresses["controlPlanePid"]).toBeGreaterThan(1);
    expect(statSync(join(data, "kubeconfig")).mode & 0o777).toBe(0o600);
    expect((await fetch(`http://${addresses["http"]}/ready`)).status).toBe(200);
    expect(await (await fetch(`http://${addresses["monitoring"]}/metrics`)).text()).toContain("pilot_info");
    started.child.kill("SIGTERM");
    expect(await started.exited).toBe(0);
    await expect(fetch(`http://${addresses["http"]}/ready`)).rejects.toThrow();
  });

  test("its control plane logs as much as it was told to", async () => {
    const logOf = async (...flags: readonly string[]): Promise<string> => {
      const data = join(work, `logs${flags.length}`);
      const started = await up(data, ...flags);
      started.child.kill("SIGTERM");
      expect(await started.exited).toBe(0);
      return readFileSync(join(data, "logs", "control-plane.log"), "utf8");
    };
    const [usual, quiet] = await Promise.all([logOf(), logOf("--log_output_level", "default:warn")]);
    expect(usual).toContain("\tinfo\tstopping");
    expect(quiet).not.toContain("\tinfo\t");
  });

  test("told to stop while it starts, it says so, and the folder is free again", async () => {
    const data = join(work, "interrupted");
    const started = startFairlead(["up", "--data", data, ...anyPort]);
    running.add(started);
    await expect.poll(() => existsSync(join(data, "lock")), { timeout: 300_000, interval: 5 }).toBe(true);
    started.child.kill("SIGINT");
    expect(await started.exited).toBe(130);
    expect(started.stdout()).toBe("");
    expect(started.stderr()).toContain("stopped before it was done");
    expect(readdirSync(data)).not.toContain("lock");
  });

  test("of several that start on the folder of a dead one, one gets it", async () => {
    const data = join(work, "raced");
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, "lock"), JSON.stringify({ pid: 2 ** 22 - 1, started: "1" }));
    const all = Array.from({ length: 4 }, () => startFairlead(["up", "--data", data, ...anyPort]));
    for (const one of all) running.add(one);
    const outcomes = await Promise.all(
      all.map((one) => Promise.race([one.until("ready\n").then(() => "ready"), one.exited])),
    );
    expect(outcomes.filter((outcome) => outcome === "ready")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 1)).toHaveLength(3);
  });

  test("keeps what was acknowledged over kill -9, and the same folder starts again at once", async () => {
    const data = join(work, "kept");
    const first = await up(data);
    const client = await clientOf(data);
    for (let i = 0; i < 20; i++)
      await client.create(configMaps, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: `kept-${i}`, namespace: "default" },
        data: { i: String(i) },
      });
    client.close();
    first.child.kill("SIGKILL");
    await first.exited;
    await up(data);
    const again = await clientOf(data);
    const { items } = await again.list(configMaps, { namespace: "default" });
    again.close();
    expect(items.filter((item) => item.metadata.name.startsWith("kept-"))).toHaveLength(20);
  });

  test("two side by side do not meet", async () => {
    const [a, b] = await Promise.all([up(join(work, "a")), up(join(work, "b"))]);
    expect(addressesOf(join(work, "a"))["api"]).not.toBe(addressesOf(join(work, "b"))["api"]);
    expect([a.stdout(), b.stdout()]).toEqual(["ready\n", "ready\n"]);
  });

  test.skipIf(lacks("root"))(
    "those whose folders lead to the same ranges, started at once, have ranges of their own",
    async () => {
      const byRange = new Map<string, string[]>();
      for (let i = 0; ; i++) {
        const data = join(realpathSync(work), `same-${i}`);
        const { podCidr } = planNetwork({ dataDir: data });
        const folders = [...(byRange.get(podCidr) ?? []), data];
        byRange.set(podCidr, folders);
        if (folders.length < 3) continue;
        await Promise.all(folders.map((folder) => up(folder)));
        const ranges = folders.map((folder) => JSON.parse(readFileSync(join(folder, "run/network.json"), "utf8")).plan);
        expect(new Set(ranges.map(({ podCidr: range }) => range)).size).toBe(3);
        return;
      }
    },
  );

  test.skipIf(lacks("root"))("ranges that the machine routes elsewhere are passed over, and said", async () => {
    const data = join(work, "routed");
    mkdirSync(data, { recursive: true });
    const { podCidr } = planNetwork({ dataDir: realpathSync(data) });
    const routed = [
      "unshare",
      "--net",
      "sh",
      "-c",
      `ip link set lo up; ip route add blackhole ${podCidr}; exec "$@"`,
      "sh",
    ];
    const ranges: unknown[] = [];
    for (let start = 0; start < 2; start++) {
      const started = startFairlead(["up", "--data", data, ...anyPort], {}, routed);
      running.add(started);
      await started.until("ready\n");
      if (start === 0)
        expect(started.stderr()).toMatch(/overlaps the host's route to \S+: Pods have addresses of 10\.\d+\.0\.0\/16/);
      ranges.push(JSON.parse(readFileSync(join(data, "run/network.json"), "utf8")).plan.podCidr);
      started.child.kill("SIGTERM");
      expect(await started.exited).toBe(0);
    }
    expect(ranges[0]).not.toBe(podCidr);
    // What was chosen once stays.
    expect(ranges[1]).toBe(ranges[0]);
  });

  test("a folder in use is refused, with who has it", async () => {
    const data = join(work, "locked");
    const first = await up(data);
    const second = await fairlead(["up", "--data", data, ...anyPort]);
    expect(second.status).toBe(1);
    expect(second.stderr).toContain(`in use by process ${first.child.pid}`);
    expect(second.stdout).toBe("");
  });

  test("a port in use is named, with the remedy, and nothing is left running", async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, "127.0.0.1", resolve));
    const bound = blocker.address();
    const port = typeof bound === "object" && bound ? bound.port : 0;
    try {
      for (const flag of ["--api-addr", "--grpcAddr", "--monitoringAddr"]) {
        const data = join(work, `port${flag}`);
        const { status, stderr } = await fairlead(["up", "--data", data, ...anyPort, flag, `127.0.0.1:${port}`]);
        expect(status, stderr).toBe(1);
        expect(stderr).toMatch(new RegExp(`127\\.0\\.0\\.1:${port}.*in use`));
        // Everything was undone: the folder can be used at once.
        const again = await up(data);
        again.child.kill("SIGINT");
        expect(await again.exited).toBe(0);
      }
    } finally {
      blocker.close();
    }
  });

  test.each([
    ["an unknown flag", ["up", "--no-such-flag"], 2, "unknown option"],
    ["an address that is none", ["up", "--grpcAddr", "nowhere"], 2, "not an address"],
    ["a range that is none", ["up", "--pod-cidr", "10.0.0.0/99"], 2, "not an IPv4 range"],
    ["ranges that overlap", ["up", "--pod-cidr", "10.9.0.0/16", "--service-cidr", "10.9.1.0/24"], 2, "overlap"],
    ["an unknown command", ["levitate"], 2, "unknown command"],
    [
      "run without a mesh",
      ["run", "--name", "x", "--port", "1", "--data", "/nonexistent", "--", "true"],
      1,
      "no standalone mesh",
    ],
    ["down without a folder", ["down", "--data", "/nonexistent"], 1, "does not exist"],
  ])("%s: exit %s", async (_name, args, status, cause) => {
    const answer = await fairlead(args.includes("up") ? [...args, "--data", join(work, "bad")] : args);
    expect(answer.stderr).toContain(cause);
    expect(answer.status).toBe(status);
    expect(answer.stdout).toBe("");
  });

  test("a folder that cannot be used is named", async () => {
    const file = join(work, "file");
    writeFileSync(file, "");
    const { status, stderr } = await fairlead(["up", "--data", join(file, "below"), ...anyPort]);
    expect(status).toBe(1);
    expect(stderr).toContain(`${file}/below`);
  });

  test("a store that is damaged is refused by name, never taken for an empty one", async () => {
    const data = join(work, "damaged");
    mkdirSync(join(data, "api"), { recursive: true });
    writeFileSync(join(data, "api/store.mdb"), "this is no store");
    chmodSync(join(data, "api"), 0o700);
    const { status, stderr } = await fairlead(["up", "--data", data, ...anyPort]);
    expect(status).toBe(1);
    expect(stderr).toContain("store.mdb");
  });

  test("a bad mesh config at run time keeps the last good one", async () => {
    const data = join(work, "mesh");
    await up(data);
    const client = await clientOf(data);
    const mesh = async (): Promise<{ accessLogFile?: string }> =>
      (await fetch(`http://${addressesOf(data)["monitoring"]}/debug/mesh`)).json() as Promise<{
        accessLogFile?: string;
      }>;
    expect((await mesh()).accessLogFile).toBe("/dev/stdout");
    await client.patch(configMaps, { name: "istio", namespace: "istio-system" }, "merge", {
      data: { mesh: "accessLogFile: [not, a, text" },
    });
    await client.create(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "after", namespace: "default" },
    });
    await expect.poll(async () => (await mesh()).accessLogFile, { timeout: 300_000 }).toBe("/dev/stdout");
    await client.patch(configMaps, { name: "istio", namespace: "istio-system" }, "merge", {
      data: { mesh: "accessLogFile: /dev/null" },
    });
    await expect.poll(async () => (await mesh()).accessLogFile, { timeout: 300_000 }).toBe("/dev/null");
    client.close();
  });
});
