/** A control plane on a real API and proxies that follow it: the command begins, follows and takes back a root rotation. */
import { afterEach, expect, test } from "vitest";
import { type ControlledApi, startControlledApi } from "../control-plane/controllers/testing.ts";
import { allowSecrets } from "../control-plane/testing.ts";
import { connectProxy, startPlane, type TestProxy } from "../control-plane/trust/testing.ts";
import { kubeKinds } from "../kube/index.ts";
import { parseJson, readList, readRecord, readText } from "../lib/index.ts";
import { runProgram } from "./program.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

async function roots(world: ControlledApi): Promise<string> {
  const found = await world.admin.get(kubeKinds.configMaps, { name: "istio-ca-root-cert", namespace: "default" });
  return readText(readRecord(found.data)["root-cert.pem"]);
}

/** Comes for a certificate whenever it is told of roots, as agents do. */
async function obey(proxy: TestProxy): Promise<void> {
  for (;;) {
    await proxy.nextRoots();
    await proxy.fetchCertificate().catch(() => {});
  }
}

test("ca rotate-root and ca status", async () => {
  const world = await startControlledApi();
  open.push(() => world.close());
  await allowSecrets(world);
  const plane = await startPlane(world);
  open.push(() => plane.close());
  const run = async (...args: string[]): Promise<{ status: number; out: string; err: string }> => {
    const [out, err]: [string[], string[]] = [[], []];
    const status = await runProgram(["ca", ...args], {
      ...{ env: {}, cwd: world.api.dir, tty: false, signal: world.stop.signal },
      ...{ out: (text) => void out.push(text), err: (text) => void err.push(text) },
    });
    return { status, out: out.join(""), err: err.join("") };
  };
  const rotate = (...args: string[]) => run("rotate-root", "--kubeconfig", world.api.kubeconfig, ...args);
  const { host, port } = plane.addresses.monitoring;
  const status = async () => {
    const { out } = await run("status", "--address", `${host}:${port}`, "-o", "json");
    return readRecord(parseJson(out));
  };
  await world.until("", "ConfigMap", "default/istio-ca-root-cert", (found) => found !== undefined);
  const first = await roots(world);
  expect(await rotate("--resume")).toMatchObject({ status: 1, err: expect.stringContaining("there was none") });
  expect(await rotate("--rollback")).toMatchObject({ status: 1, err: expect.stringContaining("no root rotation") });

  const [one, stuck] = await Promise.all(
    ["one", "stuck"].map((name) => connectProxy(world, plane, name, { listens: true, roots: () => first })),
  );
  if (!one || !stuck) throw new Error("unreachable");
  open.push(one.close, stuck.close);
  obey(one).catch(() => {});
  await stuck.fetchCertificate();
  await expect.poll(async () => readList((await status())["proxies"]).length, { timeout: 60_000 }).toBe(2);

  // One proxy does not come for its new certificate: the command says whom it waits for, and gives up; the rotation stays.
  expect((await rotate("--no-wait")).status).toBe(0);
  await expect
    .poll(async () => (await rotate("--resume", "--no-wait")).out, { timeout: 60_000 })
    .toMatch(/^reissue: .*; waiting for 1: stuck\.default$/m);
  const late = await rotate("--resume", "--timeout", "1ms");
  expect(late).toMatchObject({ status: 1, err: expect.stringContaining("look again with --resume") });
  expect(await rotate()).toMatchObject({ status: 1, err: expect.stringContaining("under way already") });
  const during = await status();
  expect(readList(during["roots"])).toHaveLength(2);
  expect(readRecord(during["rotation"])["phase"]).toBe("reissue");
  expect(JSON.stringify(during)).not.toContain("PRIVATE KEY");
  const believes = readList(during["proxies"]).map(readRecord);
  expect(believes.map(({ proxy, isReissued }) => `${proxy} ${isReissued}`).sort()).toEqual([
    "one.default true",
    "stuck.default false",
  ]);

  const back = await rotate("--rollback", "--ignore", "x.y");
  expect(back).toMatchObject({ status: 0, out: expect.stringMatching(/^done \(rollback\): /m) });
  await expect.poll(() => roots(world), { timeout: 60_000 }).toBe(first);

  const left = await rotate("--no-wait");
  expect(left.status).toBe(0);
  const done = await rotate("--ignore", "stuck.default", "-o", "json");
  expect(done.status).toBe(0);
  expect(readRecord(parseJson(done.out.trim().split("\n").at(-1) ?? ""))["phase"]).toBe("done");
  await expect.poll(() => roots(world), { timeout: 60_000 }).not.toContain(first);
  const table = await run("status", "--address", `${host}:${port}`);
  expect(table.out).toContain("Secret istio-system/istio-ca-secret");
});
