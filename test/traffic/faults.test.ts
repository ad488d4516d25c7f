/** Faults of every day, in short: `npm run chaos -- --rows all` has the long forms. */
import { describe, expect, test } from "vitest";
import type { KubeObject, ResourceType } from "../../src/model/index.ts";
import { bytesOf, types } from "../../src/model/index.ts";
import type { Renderer } from "../../src/render/index.ts";
import { istio } from "../render/objects.ts";
import { lacks } from "../require.ts";
import { runChurn, runOutage } from "./churn.ts";
import { eventually, serviceOf, startTrafficMesh } from "./mesh.ts";

const unable = lacks("root", "envoy", "iptables");

test.skipIf(unable)(
  "D01: without a control plane, requests go on and a dead server is ejected",
  { timeout: 300_000 },
  async () => {
    const report = await runOutage(4);
    expect(report).toMatchObject({ failed: 0, failures: [], refusals: [], ejected: true, caughtUp: true });
    expect(report.requests).toBeGreaterThan(0);
    // Two errors eject it; four callers may have been on their way.
    expect(report.refusedByTheDead).toBeLessThanOrEqual(8);
  },
);

test.skipIf(unable)(
  "D03: endpoint churn, a rolling deploy, and scaling to nothing and back",
  { timeout: 300_000 },
  async () => {
    const report = await runChurn(4, 200);
    expect(report).toMatchObject({ failed: 0, failures: [], refusals: [], whileEmpty: [503, 503, 503, 503, 503] });
    expect(report.requests).toBeGreaterThanOrEqual(200);
  },
);

describe.skipIf(unable)("D06", () => {
  const allTypes = [types.cluster, types.endpoint, types.listener, types.route];
  const bytes = (renderer: Renderer | undefined): readonly string[] => {
    if (!renderer) throw new Error("the proxy is not connected");
    return allTypes.flatMap((type: ResourceType) =>
      [...renderer.all(type)].map(
        ([name, resource]) => `${type} ${name} ${Buffer.from(bytesOf(resource)).toString("hex")}`,
      ),
    );
  };

  test("a rollback gives the same bytes; bad config costs nobody else and leaves no trace", {
    timeout: 300_000,
  }, async () => {
    const mesh = await startTrafficMesh();
    try {
      const [a, b] = [await mesh.backend("a"), await mesh.backend("b")];
      const [web, other] = [mesh.serviceAddress(), mesh.serviceAddress()];
      const route = (host: string, to: string, more: object = {}): KubeObject =>
        istio("VirtualService", host, { hosts: [host], http: [{ route: [{ destination: { host: to } }], ...more }] });
      const rule = (policy: object): KubeObject =>
        istio("DestinationRule", "web", { host: "web", trafficPolicy: policy });
      const revision = [route("web", "web"), rule({ connectionPool: { tcp: { maxConnections: 9 } } })];
      await mesh.apply(
        ...serviceOf("web", { address: web, backends: [a] }),
        ...serviceOf("other", { address: other, backends: [b] }),
        ...revision,
      );
      const client = await mesh.proxy("sidecar", "client");
      await mesh.apply();
      const renderer = mesh.controlPlane.rendererOf(client.nodeId);
      const before = bytes(renderer);
      const answer = async (address: string, host: string) =>
        (await client.caller.request({ address, port: 80, host })).body;

      await mesh.apply(route("web", "other"), rule({ loadBalancer: { simple: "RANDOM" } }));
      expect(bytes(renderer)).not.toEqual(before);
      await eventually(async () => (await answer(web, "web")) === "b", "the new revision");
      await mesh.apply(...revision);
      expect(bytes(renderer)).toEqual(before);
      await eventually(async () => (await answer(web, "web")) === "a", "the old revision");

      const bad = [
        route("other", "nowhere", { match: [{ uri: { regex: "(" } }], retries: { attempts: -1, retryOn: "nonsense" } }),
        istio("DestinationRule", "other", {
          host: "other",
          trafficPolicy: { connectionPool: { tcp: { connectTimeout: "-1s" } } },
        }),
        istio("Gateway", "bad", { selector: { app: "client" }, servers: [{ port: { number: -1 }, hosts: [""] }] }),
        istio("ServiceEntry", "bad", {
          hosts: ["*"],
          addresses: ["10.0.0.0/99"],
          ports: [{ number: 99999, name: "x", protocol: "y" }],
        }),
      ];
      await mesh.apply(...bad);
      expect(await answer(web, "web")).toBe("a");
      await mesh.remove(...bad);
      expect(bytes(renderer)).toEqual(before);
      expect(await answer(other, "other")).toBe("b");
      expect(mesh.controlPlane.refusals()).toEqual([]);
    } finally {
      await mesh.close();
    }
  });
});
