/** Dumps in, through the command's front door: what istioctl's recorded cases do not have. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type Outcome, runCli } from "../testing.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-zc-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const show = (dump: object, ...args: string[]): Promise<Outcome> => {
  writeFileSync(join(dir, "dump.json"), JSON.stringify(dump));
  return runCli(["zc", ...args, "-f", "dump.json"], dir);
};

const dump = {
  workloads: [
    { uid: "w1", name: "web-1", namespace: "shop", workloadIps: ["10.0.0.1"], status: "Healthy", node: "n1" },
    { uid: "w2", name: "web-2", namespace: "shop", status: "Unhealthy", hostname: "vm.example.com", node: "N2" },
  ],
  services: [
    {
      name: "web",
      namespace: "shop",
      hostname: "web.shop.svc.cluster.local",
      vips: ["net/10.9.0.1"],
      waypoint: { destination: "shop/missing.example.com" },
      endpoints: { a: { workloadUid: "w1" }, b: { workloadUid: "w2" }, c: { workloadUid: "gone" } },
      cidrVips: [{ network: "net", cidr: "10.9.0.0/24" }],
    },
  ],
  workloadState: {
    x: {
      info: { name: "web-1", namespace: "shop" },
      connections: {
        inbound: [{ src: "10.0.0.9:1", actualDst: "10.0.0.1:80", originalDst: "web.shop", protocol: "HBONE" }],
        outbound: [{ src: "10.0.0.1:5", actualDst: "[fd00::1]:15008", originalDst: "10.9.0.1:80", protocol: "HBONE" }],
      },
    },
  },
};

const lines = ({ stdout }: Outcome): readonly (readonly string[])[] =>
  stdout
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(/ +/));

test("workloads without an address are told by their host name; filters know no case", async () => {
  expect(lines(await show(dump, "workload", "--workload-node", "n2"))).toEqual([
    ["shop", "web-2", "vm.example.com", "N2", "None"],
  ]);
  expect(lines(await show(dump, "w", "--address", "10.0.0.1"))).toHaveLength(1);
  expect(lines(await show(dump, "w", "--workload-namespace", "other"))).toEqual([]);
});

test("services count their healthy endpoints; a waypoint that nobody has is NA", async () => {
  expect(lines(await show(dump, "svc"))).toEqual([["shop", "web", "10.9.0.1", "NA", "1/3"]]);
});

test("data has istioctl's fields, and no others", async () => {
  const [service] = JSON.parse((await show(dump, "service", "-o", "json")).stdout);
  expect(service).toMatchObject({ cidrVips: ["net/10.9.0.0/24"], ports: null, ipFamilies: "" });
  expect(service).not.toHaveProperty("canonical");
});

test("connections are told by name, unless raw", async () => {
  expect(lines(await show(dump, "connections"))).toEqual([
    ["web-1.shop", "Inbound", "web-1.shop:80", "10.0.0.9:1", "web.shop", "HBONE"],
    ["web-1.shop", "Outbound", "web-1.shop:5", "[fd00::1]:15008", "web.shop.svc.cluster.local:80", "HBONE"],
  ]);
  expect(lines(await show(dump, "cons", "--raw", "--direction", "inbound"))).toEqual([
    ["web-1.shop", "Inbound", "10.0.0.1:80", "10.0.0.9:1", "web.shop", "HBONE"],
  ]);
});

test("without a file it is wrong usage", async () => {
  expect((await runCli(["zc", "workload"], dir)).status).toBe(2);
});
