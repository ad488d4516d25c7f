/** Holes of the past, tried on a live Envoy: silent clients on a sniffed port, authorities of any length on the way out. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wait } from "../../src/lib/index.ts";
import { istio } from "../render/objects.ts";
import { lacks } from "../require.ts";
import { fewTurns } from "../worker-turns.ts";
import { type Backend, tcpPort, tlsPort } from "./backend.ts";
import { eventually, meshConfig, serviceOf, startTrafficMesh, type TrafficMesh } from "./mesh.ts";
import type { TrafficProxy } from "./proxy.ts";

describe.skipIf(lacks("root", "envoy", "iptables"))("holes", () => {
  let mesh: TrafficMesh;
  let client: TrafficProxy;
  let a: Backend;

  beforeAll(async () => {
    mesh = await startTrafficMesh();
    a = await mesh.backend("a");
    client = await mesh.proxy("sidecar", "client");
  });
  afterAll(() => mesh?.close());

  test("R06: 500 silent clients on a sniffed port cost nothing; with a detection timeout they reach the fallback", async () => {
    const address = mesh.serviceAddress();
    await mesh.apply(...serviceOf("sniffed", { address, backends: [a], portName: "x", port: 95, targetPort: tcpPort }));
    expect(await client.caller.silent(address, 95, 500)).toEqual({ open: 500 });
    const before = await client.turns();
    await wait(2000);
    expect((await client.turns()) - before).toBeLessThan(fewTurns);
    expect(a.seen).toEqual([]);

    const slow = mesh.serviceAddress();
    await mesh.apply(
      meshConfig({ protocolDetectionTimeout: "0.2s" }),
      ...serviceOf("timed", { address: slow, backends: [a], portName: "x", port: 96, targetPort: tcpPort }),
    );
    expect(await client.caller.silent(slow, 96, 500)).toEqual({ open: 500 });
    await eventually(() => a.seen.length === 500, "500 connections at the server");
    expect(client.alive()).toBe(true);
  });

  test("R34: an authority of any length through TLS origination leaves Envoy alive", async () => {
    await mesh.apply(
      istio("ServiceEntry", "wild", {
        hosts: ["*.wild.example"],
        resolution: "NONE",
        ports: [{ number: tlsPort, name: "http", protocol: "HTTP" }],
      }),
      istio("DestinationRule", "wild", {
        host: "*.wild.example",
        trafficPolicy: { tls: { mode: "SIMPLE", insecureSkipVerify: true } },
      }),
    );
    const suffix = ".wild.example";
    const call = (length: number) =>
      client.caller.request({ address: a.address, port: tlsPort, host: "x".repeat(length - suffix.length) + suffix });
    expect(await call(40)).toMatchObject({ status: 200, body: `a ${"x".repeat(27)}${suffix}` });
    for (const length of [254, 255, 256, 1024, 65_536]) {
      const { status } = await call(length);
      expect([length, client.alive(), status === 200 ? length <= 255 : status >= 400 || status === 0]).toEqual([
        length,
        true,
        true,
      ]);
    }
    expect((await call(40)).status).toBe(200);
  });
});
