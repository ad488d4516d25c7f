import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kindRef } from "../../kube/index.ts";
import { readList, readRecord, readText, silentLogger } from "../../lib/index.ts";
import { type KubeObject, serviceEntry } from "../../model/index.ts";
import { createAddressPool } from "./address-pool.ts";
import { runServiceEntryAddresses } from "./service-entry-addresses.ts";
import { type ControlledApi, startControlledApi } from "./testing.ts";

const istio = "networking.istio.io";
const entry = (
  name: string,
  spec: Readonly<Record<string, unknown>>,
  labels: Readonly<Record<string, string>> = {},
): KubeObject => ({
  apiVersion: `${istio}/v1`,
  kind: "ServiceEntry",
  metadata: { name, namespace: "default", labels },
  spec: { ports: [{ number: 443, name: "tls", protocol: "TLS" }], resolution: "DNS", ...spec },
});
const addressesOf = (object: KubeObject | undefined): readonly Readonly<Record<string, unknown>>[] =>
  readList(readRecord(object?.status).addresses).map(readRecord);
const hasAddresses = (object: KubeObject | undefined): boolean => addressesOf(object).length > 0;
const values = (object: KubeObject | undefined): readonly string[] =>
  addressesOf(object).map(({ value }) => readText(value));

describe("addresses of ServiceEntries", () => {
  let world: ControlledApi;
  const until = (name: string, holds: (object: KubeObject | undefined) => boolean): Promise<KubeObject> =>
    world.until(istio, "ServiceEntry", `default/${name}`, holds);
  const writeStatus = (name: string, status: unknown): Promise<KubeObject> =>
    world.admin.patchStatus(kindRef(serviceEntry), { name, namespace: "default" }, status);

  beforeAll(async () => {
    world = await startControlledApi();
    const serviceEntries = world.objects(istio, "ServiceEntry");
    await world.synced();
    runServiceEntryAddresses({
      client: world.client,
      serviceEntries,
      discovered: () => true,
      log: silentLogger,
      random: () => 0.5,
      signal: world.stop.signal,
    });
  });
  afterAll(() => world.close());

  test("every host gets one of each family and keeps it when another host comes", async () => {
    await world.create(entry("two", { hosts: ["a.example.com", "b.example.com"] }));
    const before = addressesOf(await until("two", hasAddresses));
    expect(before.map(({ host }) => host)).toEqual([
      "a.example.com",
      "a.example.com",
      "b.example.com",
      "b.example.com",
    ]);
    expect(before[0]?.value).toMatch(/^240\.240\.\d+\.\d+$/);
    expect(before[1]?.value).toMatch(/^2001:2::[0-9a-f]+$/);
    const spec = { hosts: ["c.example.com", "a.example.com"] };
    await world.admin.patch(kindRef(serviceEntry), { name: "two", namespace: "default" }, "merge", { spec });
    const after = addressesOf(await until("two", (now) => addressesOf(now)[0]?.host === "c.example.com"));
    expect(after.slice(2)).toEqual(before.slice(0, 2));
  });

  test.each([
    ["own addresses", entry("own", { hosts: ["x.com"], addresses: ["10.9.9.9"] })],
    ["resolution NONE", entry("none", { hosts: ["x.com"], resolution: "NONE" })],
    ["opted out", entry("out", { hosts: ["x.com"] }, { "networking.istio.io/enable-autoallocate-ip": "False" })],
    ["only wildcard hosts", entry("wild", { hosts: ["*.x.com"] })],
  ])("none with %s", async (_case, object) => {
    await world.create(object);
    // A later entry has its addresses: this one has been looked at.
    await world.create(entry(`after-${object.metadata.name}`, { hosts: ["later.com"] }));
    await until(`after-${object.metadata.name}`, hasAddresses);
    expect(await until(object.metadata.name, (now) => now !== undefined)).not.toHaveProperty("status.addresses");
  });

  test("a wildcard host that is resolved at request time has some", async () => {
    await world.create(entry("dynamic", { hosts: ["*.y.com"], resolution: "DYNAMIC_DNS", location: "MESH_EXTERNAL" }));
    expect(values(await until("dynamic", hasAddresses))).toHaveLength(2);
  });

  test("opting out later takes them away", async () => {
    await world.create(entry("changed", { hosts: ["x.com"] }));
    await until("changed", hasAddresses);
    const metadata = { labels: { "networking.istio.io/enable-autoallocate-ip": "false" } };
    await world.admin.patch(kindRef(serviceEntry), { name: "changed", namespace: "default" }, "merge", { metadata });
    await until("changed", (now) => !hasAddresses(now));
  });

  test("two with one address: the younger gets another, also where somebody wrote it by hand", async () => {
    await world.create(entry("older", { hosts: ["o.com"] }));
    const kept = addressesOf(await until("older", hasAddresses));
    const younger = entry("younger", { hosts: ["y.com"] });
    await world.create(younger);
    await until("younger", hasAddresses);
    await writeStatus("younger", { addresses: kept.map(({ value }) => ({ value, host: "y.com" })) });
    const moved = await until("younger", (now) => hasAddresses(now) && !values(now).includes(readText(kept[0]?.value)));
    expect(values(moved)).toHaveLength(2);
    expect(addressesOf(await until("older", hasAddresses))).toEqual(kept);
  });

  test("an owner who writes an address of the range has it, and who was given it moves", async () => {
    await world.create(entry("given", { hosts: ["g.com"] }));
    const [taken = ""] = values(await until("given", hasAddresses));
    await world.create(entry("writer", { hosts: ["w.com"], addresses: [taken] }));
    await until("given", (now) => hasAddresses(now) && !values(now).includes(taken));
  });
});

describe("a pool", () => {
  test("gives every address once, then none", () => {
    const pool = createAddressPool("240.240.0.0/29");
    const taken = new Set<string>();
    for (let i = 0; i < 7; i++) taken.add(pool.pick("seed", (address) => taken.has(address)) ?? "none");
    expect([...taken].sort()).toEqual([1, 2, 3, 4, 5, 6, 7].map((n) => `240.240.0.${n}`));
    expect(pool.pick("seed", (address) => taken.has(address))).toBeUndefined();
  });

  test("knows its own", () => {
    const pool = createAddressPool("2001:2::/48");
    expect(["2001:2::1", "2001:2:0:ffff::", "2001:2:1::", "240.240.0.1", "x"].map(pool.contains)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
