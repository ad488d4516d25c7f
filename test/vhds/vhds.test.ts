/** Virtual hosts one by one to a real Envoy. Longer: `npm run vhds`. */
import { afterEach, describe, expect, test } from "vitest";
import { closeAll, startEnvoy, until } from "../../src/xds/server/testing-envoy.ts";
import { freePort } from "../free-ports.ts";
import { lacks } from "../require.ts";
import { createMesh, dumpedRoutes, refusals } from "./mesh.ts";
import { soak } from "./soak.ts";

afterEach(closeAll);

const steps = 25;

describe.skipIf(lacks("envoy"))("virtual hosts one by one", () => {
  test.each([1, 4])(
    "under traffic, whatever changes, is refused, goes or is cut (seed %i)",
    {
      timeout: 300_000,
    },
    async (seed) => {
      const result = await soak(seed, steps);
      expect(result.wrong.join("\n")).toBe("");
      expect(result.unexpectedRefusals).toBe(0);
      for (const count of [result.requests, result.cuts, result.checks]) expect(count).toBeGreaterThan(0);
    },
  );

  test("one that comes back to another control plane is sent what has changed, and nothing else", async () => {
    const port = await freePort();
    const mesh = createMesh(["80"], () => [port]);
    for (let i = 0; i < 50; i++) mesh.hosts.get("80")?.set(`h${i}`, { domains: [`d${i}`], answer: "first" });
    mesh.put();
    const before = await mesh.serve(0);
    const { admin } = await startEnvoy(before.port, "DELTA_GRPC");
    const arrived = async (): Promise<boolean> => (await mesh.behind(admin)).length === 0;
    await until(arrived, "first");
    await until(before.isAnswered, "all to be answered");
    await before.close();
    mesh.hosts.get("80")?.set("h7", { domains: ["d7"], answer: "second" });
    mesh.put();
    const after = await mesh.serve(before.port);
    await until(arrived, "the change");
    await until(after.isAnswered, "all to be answered");
    const sent = after.sentBytes();
    expect([...sent.keys()]).not.toContain("rds");
    expect(before.sentBytes().get("vhds")).toBeGreaterThan(50 * 100);
    expect(sent.get("vhds")).toBeLessThan(1000);
    expect(await refusals(admin)).toBe(0);
  });

  test.each([true, false])("a name that is alive stays as it is, when the setting turns (from %s)", async (first) => {
    let enabled = first;
    const port = await freePort();
    const mesh = createMesh(
      ["80"],
      () => [port],
      () => enabled,
    );
    mesh.hosts.get("80")?.set("h", { domains: ["*"], answer: "first" });
    mesh.put();
    const before = await mesh.serve(0);
    const { admin } = await startEnvoy(before.port, "DELTA_GRPC");
    const arrived = async (): Promise<boolean> => (await mesh.behind(admin)).length === 0;
    await until(arrived, "first");
    await before.close();
    enabled = !first;
    mesh.hosts.get("80")?.set("i", { domains: ["i"], answer: "new" });
    mesh.put();
    const after = await mesh.serve(before.port);
    await until(arrived, "after the turn");
    const [config] = await dumpedRoutes(admin);
    expect(config?.vhds !== undefined).toBe(first);
    // What a dump of the control plane has is what one of Envoy has, so that both can be compared.
    expect(after.shown("80")).toEqual(config);
    expect(await refusals(admin)).toBe(0);
  });
});
