/** X20: what a proxy refuses is told by the object's status, the command and the page, and keeps nothing else from it and two hundred others. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../src/cli/testing.ts";
import { connectProxy, type ScriptedProxy } from "../../src/control-plane/testing.ts";
import { readList, readRecord, readText } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import type { ProxyDetail } from "../../src/read-api/index.ts";
import { ask, type DashboardPlane, signIn, startDashboardPlane } from "./dashboard-plane.ts";

const istio = "networking.istio.io";
const words = "no such thing as this route";

let mesh: DashboardPlane;
let proxy: ScriptedProxy;
/** Those that take what they are sent. */
let others: readonly ScriptedProxy[];
beforeAll(async () => {
  mesh = await startDashboardPlane({ analysis: true });
  await mesh.world.create({
    ...{ apiVersion: "v1", kind: "Service", metadata: { name: "reviews", namespace: "default" } },
    spec: { ports: [{ name: "http", port: 80 }], clusterIP: "10.96.0.10" },
  });
  proxy = await connectProxy(mesh.plane(), "web.default", ["80"]);
  others = await Promise.all(
    Array.from({ length: 200 }, (_, i) => connectProxy(mesh.plane(), `other-${i}.default`, ["80"])),
  );
});
afterAll(async () => {
  for (const one of [proxy, ...others]) one.close();
  await mesh.close();
});

const route = (name: string) => ({
  ...{ apiVersion: `${istio}/v1`, kind: "VirtualService", metadata: { name, namespace: "default" } },
  spec: { hosts: [`${name}.example`], http: [{ route: [{ destination: { host: "reviews" } }] }] },
});

const conditionOf = (object: KubeObject | undefined, type: string): string =>
  readList(readRecord(object?.status).conditions)
    .map(readRecord)
    .filter((one) => one.type === type && one.status === "False" && readText(one.message).includes(words))
    .map(({ message }) => readText(message))
    .join();

test("X20: what a proxy refuses is shown in the status, by proxy-status and on the page, and clusters still come", async () => {
  await expect.poll(() => others.filter(({ responses }) => !responses.has("RouteConfiguration"))).toEqual([]);
  await proxy.answer((response) => (response.typeUrl.endsWith("RouteConfiguration") ? words : undefined));
  await mesh.world.create(route("refused"));
  await mesh.world.until(istio, "VirtualService", "default/refused", (now) =>
    ["Programmed", "Reconciled"].every((type) => conditionOf(now, type).includes("web.default refused RDS 80")),
  );

  const { host, port } = mesh.plane().addresses.monitoring;
  const { status, stdout } = await runCli(["proxy-status", "--address", `${host}:${port}`]);
  expect(status).toBe(0);
  expect(stdout).toMatch(new RegExp(`web\\.default.*${words}`));

  const bearer = await signIn(mesh);
  const { text } = await ask(mesh.origin(), "/api/proxy?id=web.default", {
    headers: { authorization: `Bearer ${bearer}` },
  });
  const shown = JSON.parse(text) as ProxyDetail;
  expect(shown.state).toBe("refuses");
  const objects = expect.arrayContaining([{ object: "VirtualService/default/refused", field: "spec.http[0]" }]);
  expect(shown.refuses).toMatchObject([{ resource: "RDS 80", words, objects }]);

  const clusters = (of: ScriptedProxy): number => of.responses.get("Cluster") ?? 0;
  const before = new Map([proxy, ...others].map((one) => [one, clusters(one)]));
  await mesh.world.create({
    ...{ apiVersion: "v1", kind: "Service", metadata: { name: "more", namespace: "default" } },
    spec: { ports: [{ name: "http", port: 8080 }], clusterIP: "10.96.0.11" },
  });
  await expect.poll(() => [...before].filter(([one, count]) => clusters(one) <= count)).toEqual([]);
});
