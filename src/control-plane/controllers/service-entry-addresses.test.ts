import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createGraph } from "../../collections/index.ts";
import { kindRef } from "../../kube/index.ts";
import { createLogger, FairleadError, readList, readRecord, readText, silentLogger } from "../../lib/index.ts";
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

describe("with few addresses", () => {
  /** An API that says what becomes of each write, or writes it. */
  function start(ranges: readonly string[], answer?: () => Promise<KubeObject>) {
    const serviceEntries = createGraph().source<KubeObject>("ServiceEntry");
    const stop = new AbortController();
    const told: string[] = [];
    const writes: { readonly name: string; readonly addresses: readonly string[] }[] = [];
    runServiceEntryAddresses({
      client: {
        patch(_kind, { name }, _type, patch) {
          writes.push({ name, addresses: values(patch as KubeObject) });
          if (answer) return answer();
          const written = {
            ...entry(name, {}),
            ...serviceEntries.get(`default/${name}`),
            status: readRecord(patch).status,
          };
          serviceEntries.set(`default/${name}`, written);
          return Promise.resolve(written);
        },
      },
      serviceEntries,
      discovered: () => true,
      log: createLogger({ now: () => new Date(0), write: (line) => told.push(line) }),
      random: () => 0.5,
      signal: stop.signal,
      ranges,
    });
    onTestFinished(() => stop.abort());
    return {
      writes,
      set: (object: KubeObject) => serviceEntries.set(`default/${object.metadata.name}`, object),
      remove: (name: string) => serviceEntries.delete(`default/${name}`),
      written: (name: string): Promise<readonly string[]> =>
        vi.waitUntil(() => writes.findLast((one) => one.name === name)?.addresses, { timeout: 120_000 }),
      refused: () => told.filter((line) => line.includes("no address is left")),
    };
  }
  const never = () => Promise.reject(new FairleadError("unavailable", "not now"));
  const withStatus = (object: KubeObject, host: string, value: string): KubeObject => ({
    ...object,
    status: { addresses: [{ value, host }] },
  });

  test("an entry that is edited holds the addresses of the hosts that it has", async () => {
    const { set, writes, refused } = start(["240.240.0.0/29", "2001:2::/125"], never);
    for (let i = 0; i < 20; i++) {
      set(entry("one", { hosts: [`h${i}.com`, "stays.com"] }));
      await expect.poll(() => writes.length).toBeGreaterThan(i);
    }
    expect(refused()).toEqual([]);
  });

  const hosts = ["a.com", "b.com", "*.c.com"];
  const dynamic = { hosts, resolution: "DYNAMIC_DNS" };
  test.each([
    ["has own addresses", entry("one", { ...dynamic, addresses: ["10.9.9.9"] })],
    ["opts out", entry("one", dynamic, { "networking.istio.io/enable-autoallocate-ip": "false" })],
    ["is no longer resolved", entry("one", { hosts, resolution: "NONE" })],
    ["is no longer resolved at request time", entry("one", { hosts, resolution: "DNS" })],
    ["has other hosts", entry("one", { ...dynamic, hosts: [] })],
  ])("an entry that %s gives back what it was to have", async (_case, now) => {
    const { set, written, refused } = start(["240.240.0.0/30"], never);
    set(entry("one", dynamic));
    expect(await written("one")).toHaveLength(3);
    set(now);
    set(entry("next", { hosts: ["d.com"] }));
    expect(await written("next")).toHaveLength(1);
    expect(refused()).toEqual([]);
  });

  test("an entry with more hosts than there are addresses is told of in one line", async () => {
    const { set, writes, refused } = start(["240.240.0.0/30"], never);
    set(entry("one", { hosts: Array.from({ length: 20 }, (_, i) => `h${i}.com`) }));
    await expect.poll(() => writes.length).toBeGreaterThan(0);
    expect(refused()).toEqual([
      expect.stringContaining("no address is left for h3.com, h4.com, h5.com, h6.com, h7.com, 12 more of ServiceEntry"),
    ]);
  });

  test("an address that an owner wrote down while it was written for another is given up", async () => {
    const answer = Promise.withResolvers<KubeObject>();
    const { set, writes, written } = start(["240.240.0.0/29"], () => answer.promise);
    const one = entry("one", { hosts: ["a.com"] });
    set(one);
    const [given = ""] = await written("one");
    set(entry("owner", { hosts: ["b.com"], addresses: [given] }));
    const now = withStatus(one, "a.com", given);
    set(now);
    answer.resolve(now);
    await expect.poll(() => writes.at(-1)?.addresses).not.toContain(given);
  });

  test("an entry that has some addresses keeps those that its other hosts are to have", async () => {
    const answer = Promise.withResolvers<KubeObject>();
    const { set, written } = start(["240.240.0.0/30"], () => answer.promise);
    const [one, first] = [entry("one", { hosts: ["a.com", "b.com"] }), "240.240.0.1"];
    set(withStatus(one, "a.com", first));
    const [, second] = await written("one");
    set(entry("next", { hosts: ["c.com", "d.com"] }));
    // Somebody else's edit of it, while it is written.
    set(withStatus({ ...one, metadata: { ...one.metadata, labels: { edited: "yes" } } }, "a.com", first));
    answer.reject(new FairleadError("unavailable", "not now"));
    expect(await written("next")).not.toContain(second);
  });

  test("an entry that lost its address keeps the next one for as long as it has lost", async () => {
    const { set, remove, written } = start(["240.240.0.0/30"], never);
    const [older, younger] = [entry("older", { hosts: ["o.com"] }), entry("younger", { hosts: ["y.com"] })];
    set(withStatus(older, "o.com", "240.240.0.1"));
    set(withStatus(younger, "y.com", "240.240.0.1"));
    const [other] = await written("younger");
    set(
      withStatus({ ...younger, metadata: { ...younger.metadata, labels: { edited: "yes" } } }, "y.com", "240.240.0.1"),
    );
    set(entry("next", { hosts: ["c.com", "d.com"] }));
    expect(await written("next")).not.toContain(other);
    // With the other the dispute goes, and nobody touches this one.
    remove("older");
    set(entry("last", { hosts: ["e.com"] }));
    expect(await written("last")).toEqual([other]);
  });

  test("an entry that found none gets its own once another has gone", async () => {
    const { set, remove, written, refused } = start(["240.240.0.0/30"]);
    set(entry("big", { hosts: ["a.com", "b.com", "c.com"] }));
    expect(await written("big")).toHaveLength(3);
    set(entry("next", { hosts: ["d.com"] }));
    await expect.poll(refused).toHaveLength(1);
    remove("big");
    expect(await written("next")).toHaveLength(1);
    set(entry("next", { hosts: ["d.com", "e.com"] }));
    await expect.poll(() => written("next")).toHaveLength(2);
    expect(refused()).toHaveLength(1);
  });

  test.each([
    ["has its own addresses now", entry("big", { hosts: ["a.com"], addresses: ["10.9.9.9"] })],
    ["has fewer hosts now", entry("big", { hosts: ["a.com"] })],
  ])("what an entry was to have goes to one that found none when it %s", async (_case, now) => {
    const { set, written, refused } = start(["240.240.0.0/30"], never);
    set(entry("big", { hosts: ["a.com", "b.com", "c.com"] }));
    expect(await written("big")).toHaveLength(3);
    set(entry("next", { hosts: ["d.com"] }));
    await expect.poll(refused).toHaveLength(1);
    set(now);
    expect(await written("next")).toHaveLength(1);
  });

  test("of many that found none as many are looked at again as there is room for", async () => {
    const { set, remove, writes, refused } = start(["240.240.0.0/30"]);
    for (const name of ["one", "two", "three"]) set(entry(name, { hosts: [`${name}.com`] }));
    await expect.poll(() => writes.length).toBe(3);
    for (let i = 0; i < 50; i++) set(entry(`w${i}`, { hosts: [`w${i}.com`] }));
    await expect.poll(refused).toHaveLength(50);
    remove("one");
    remove("two");
    // The first one who finds none again ends it.
    await expect.poll(refused).toHaveLength(51);
    remove("w2");
    remove("three");
    await expect.poll(refused).toHaveLength(52);
    expect(writes.slice(3).map(({ name }) => name)).toEqual(["w0", "w1", "w3"]);
  });

  test("hosts that look for the last addresses of a large range do not keep the event loop", async () => {
    const { set, written } = start(["240.240.0.0/16"]);
    const free = new Set(Array.from({ length: 120 }, (_, i) => i * 7 + 1));
    const taken = Array.from({ length: 65_535 }, (_, i) => i + 1).filter((i) => !free.has(i));
    const addresses = taken.map((i) => `240.240.${i >> 8}.${i & 255}`);
    set(entry("holder", { hosts: ["h.com"], addresses }));
    set(entry("first", { hosts: ["a.com"] }));
    await written("first");
    let [longestMs, lastMs] = [0, performance.now()];
    const watch = setInterval(() => {
      const now = performance.now();
      longestMs = Math.max(longestMs, now - lastMs);
      lastMs = now;
    }, 1);
    set(entry("many", { hosts: Array.from({ length: 110 }, (_, i) => `m${i}.com`) }));
    expect(await written("many")).toHaveLength(110);
    clearInterval(watch);
    // Each looked at half of the range, all of them in one turn: it took four seconds.
    expect(longestMs).toBeLessThan(300);
  });

  test("a host has an address of each family, or none", async () => {
    const { set, remove, written, refused, writes } = start(["240.240.0.0/30", "2001:2::/125"]);
    set(entry("big", { hosts: ["a.com", "b.com", "c.com"] }));
    expect(await written("big")).toHaveLength(6);
    set(entry("next", { hosts: ["d.com"] }));
    await expect.poll(refused).toHaveLength(1);
    expect(writes).toHaveLength(1);
    remove("big");
    expect(await written("next")).toHaveLength(2);
  });
});
