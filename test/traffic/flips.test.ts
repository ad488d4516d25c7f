/** Make before break, on real Envoys under constant traffic, without retries that would hide a gap. */
import { describe, expect, test } from "vitest";
import { wait } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { istio } from "../render/objects.ts";
import { lacks } from "../require.ts";
import type { Backend } from "./backend.ts";
import { runFlips } from "./flips.ts";
import { eventually, serviceOf, startTrafficMesh } from "./mesh.ts";

/** Sends all requests for `web` to one of its two servers, and knows the other no more. */
const only = (backend: Backend): readonly KubeObject[] => [
  istio("DestinationRule", "web", { host: "web", subsets: [{ name: backend.name, labels: { app: backend.name } }] }),
  istio("VirtualService", "web", {
    hosts: ["web"],
    http: [
      { retries: { attempts: 2, retryOn: "5xx" }, route: [{ destination: { host: "web", subset: backend.name } }] },
    ],
  }),
];

describe.skipIf(lacks("root", "envoy", "iptables"))("flips", () => {
  test("D02: 100 flips of routes and their destinations cost no request, over delta and state of the world", {
    timeout: 300_000,
  }, async () => {
    const { requests, failed, failures, refusals } = await runFlips({ flips: 100 });
    expect(failures).toEqual([]);
    expect(failed).toBe(0);
    expect(refusals).toEqual([]);
    expect(requests).toBeGreaterThan(100);
  });

  test.each(["delta", "sotw"] as const)(
    "%s: a request that was routed before a flip may still be tried again after it",
    {
      timeout: 300_000,
    },
    async (variant) => {
      const mesh = await startTrafficMesh();
      try {
        const [before, after] = [await mesh.backend("before"), await mesh.backend("after")];
        const address = mesh.serviceAddress();
        await mesh.apply(...serviceOf("web", { address, backends: [before, after] }), ...only(before));
        const { caller, ...envoy } = await mesh.proxy("sidecar", "client", { sotw: variant === "sotw" });
        await mesh.apply();
        const call = { address, port: 80, host: "web" };
        // The server holds its answer back, and then fails at first: Envoy tries again by the route that it had then.
        const held = Promise.withResolvers<void>();
        before.gate = held.promise;
        before.nextStatuses.push(503);
        const slow = caller.request(call);
        await eventually(() => before.busy > 0, "the request to arrive");
        // A slow Envoy hears of all steps of the flip at once.
        envoy.pause();
        mesh.controlPlane.apply(only(after));
        await wait(200);
        envoy.resume();
        await mesh.controlPlane.settled();
        await eventually(async () => (await caller.request(call)).body === "after", "the flip");
        expect(before.busy).toBe(1);
        before.gate = undefined;
        held.resolve();
        expect(await slow).toMatchObject({ status: 200, body: "before" });
      } finally {
        await mesh.close();
      }
    },
  );
});
