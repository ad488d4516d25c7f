/** Two replicas on one API, with the CA that they share: what agents tell the one, the other shows too. */
import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { oneTimeToken } from "../../dashboard/index.ts";
import { Edge_Side, ReadRequestSchema, TrafficService } from "../../gen/fairlead/traffic_pb.js";
import { createLogger, readRecord } from "../../lib/index.ts";
import type { Graph } from "../../read-api/index.ts";
import { createRpcClient, protoMethod } from "../../rpc/index.ts";
import { parseSnapshot, type TrafficSnapshot } from "../../traffic/index.ts";
import { type ControlledApi, startControlledApi } from "../controllers/testing.ts";
import type { Discovery } from "../discovery.ts";
import { allowSecrets, startPlane } from "../testing.ts";
import { startAgents, type TestAgents } from "./testing.ts";

describe("two replicas", () => {
  let world: ControlledApi;
  let planes: readonly Discovery[] = [];
  let agents: TestAgents;
  const secret = randomBytes(32);
  const lines: string[] = [];

  beforeAll(async () => {
    world = await startControlledApi();
    await allowSecrets(world);
    const log = createLogger({ write: (line) => void lines.push(line), now: () => new Date() });
    const free = { host: "127.0.0.1", port: 0 };
    const addresses = { grpc: free, secureGrpc: free, monitoring: free, https: free, http: free, dashboard: free };
    // With pages of their own, of which only what they tell is asked for.
    const page = { addresses, dashboard: { folder: "", secret } };
    const first = await startPlane(world, { ...page, log });
    planes = [first, await startPlane(world, { ...page, identity: "istiod-other" })];
    agents = await startAgents(world);
  });
  afterAll(async () => {
    agents.close();
    for (const plane of planes) await plane.close();
    await world.close();
  });

  const plane = (which: Discovery | undefined): Discovery => {
    if (!which) throw new Error("there is no such control plane");
    return which;
  };
  const report = (which: Discovery | undefined, account: string, requests: number): Promise<void> =>
    agents.report(plane(which), account, "default", [
      { side: Edge_Side.SOURCE, peer: { namespace: "shop", workload: "back" }, counts: [requests] },
    ]);

  async function seen(plane: Discovery | undefined, query = ""): Promise<TrafficSnapshot> {
    const { host, port } = plane?.addresses.monitoring ?? { host: "", port: 0 };
    return parseSnapshot(await (await fetch(`http://${host}:${port}/debug/trafficz?last=10m${query}`)).json());
  }
  /** What the page of that one shows. */
  async function drawn(which: Discovery | undefined) {
    const { host, port } = plane(which).addresses.dashboard ?? { host: "", port: 0 };
    const body = JSON.stringify({ token: oneTimeToken(secret, Date.now()) });
    const signedIn: unknown = await (
      await fetch(`http://${host}:${port}/api/session`, { method: "POST", body })
    ).json();
    const headers = { authorization: `Bearer ${String(readRecord(signedIn).bearer)}` };
    const graph = (await (await fetch(`http://${host}:${port}/api/graph?last=600`, { headers })).json()) as Graph;
    return { requests: graph.edges.reduce((sum, edge) => sum + edge.requests, 0), silent: graph.silent };
  }
  const requests = ({ traffic }: TrafficSnapshot): number =>
    traffic.reduce((sum, { bySource }) => sum + (bySource?.requests?.requests ?? 0), 0);
  const replicas = (ports: readonly number[]) => ({
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name: "istiod", namespace: "istio-system" },
    spec: {
      ...{ hosts: ["istiod.istio-system.svc.cluster.local"], resolution: "STATIC", location: "MESH_INTERNAL" },
      ports: [{ number: 15012, name: "https-dns", protocol: "TCP" }],
      endpoints: ports.map((port) => ({ address: "127.0.0.1", ports: { "https-dns": port } })),
    },
  });

  test("show the same, and each its own where asked for that", async () => {
    const [one, other] = planes;
    await report(one, "front", 7);
    await report(other, "second", 5);
    expect([requests(await seen(one)), requests(await seen(other))]).toEqual([7, 5]);
    const ports = planes.map(({ addresses }) => addresses.secureGrpc.port);
    // The last one is nobody.
    await world.create(replicas([...ports, 1]));
    for (const plane of planes) {
      const both = async () => {
        const snapshot = await seen(plane);
        const { reporters, silentPlanes, planes: of } = snapshot;
        return { requests: requests(snapshot), reporters, silentPlanes, planes: of.length };
      };
      await expect.poll(both).toEqual({ requests: 12, reporters: 2, silentPlanes: 1, planes: 2 });
    }
    // What was once answered is kept for as long as reports are far apart.
    for (const which of planes) await expect.poll(() => drawn(which)).toEqual({ requests: 12, silent: 1 });
    expect([requests(await seen(one, "&local")), requests(await seen(other, "&local"))]).toEqual([7, 5]);
    // What a replica issues to itself is in the audit as everybody's is: to show on its ports, and to the other one.
    const audited = lines.filter((line) => line.includes("certificate issued") && line.includes("client=self"));
    const facts = "\\tserial=[0-9A-F]+\\tuntil=\\d{4}-";
    for (const name of ["istiod.istio-system.svc,.*", "spiffe://cluster.local/ns/istio-system/sa/istiod"])
      expect(audited).toContainEqual(expect.stringMatching(`identity=${name}${facts}`));
  });

  test("tell it to nobody else", async () => {
    const read = protoMethod(TrafficService.method.read);
    const ask = async (account: string, namespace: string): Promise<string> =>
      (await agents.client(plane(planes[0]), account, namespace))
        .unary(read, create(ReadRequestSchema, { lastMs: 60_000 }))
        .then(({ json }) => json, String);
    expect(await ask("front", "default")).toMatch(/not a replica/);
    expect(await ask("istiod", "istio-system")).toContain("traffic");
    const stranger = createRpcClient({ target: plane(planes[0]).addresses.secureGrpc, tls: () => ({ ca: agents.ca }) });
    await expect(stranger.unary(read, create(ReadRequestSchema, {}))).rejects.toThrow(/authentication failure/);
    stranger.close();
  });
});
