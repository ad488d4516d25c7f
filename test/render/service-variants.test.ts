/** Several objects for one host in one namespace: what a proxy is told, objects in to JSON out. */
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { istio, pod, service } from "./objects.ts";
import { type Json, renderProxy } from "./offline.ts";

const client = pod("client", { proxy: "sidecar", address: "10.0.0.9" });

interface EntryOptions {
  readonly year: number;
  readonly namespace?: string;
  readonly hosts?: readonly string[];
  readonly port?: number;
  readonly portName?: string;
  readonly [field: string]: unknown;
}

function entry(name: string, options: EntryOptions): KubeObject {
  const { year, namespace = "default", hosts = ["a.com"], port = 80, portName = "http", ...rest } = options;
  const ports = [{ number: port, name: portName, protocol: "HTTP" }];
  const made = istio("ServiceEntry", name, { hosts, ports, resolution: "DNS", ...rest });
  return { ...made, metadata: { ...made.metadata, namespace, creationTimestamp: `${year}-01-01T00:00:00Z` } };
}

const render = (...objects: readonly KubeObject[]) => renderProxy({ objects: [client, ...objects] });

const names = (json: Json): readonly string[] =>
  json.loadAssignment.endpoints
    .flatMap((group: Json) => group.lbEndpoints)
    .map(({ endpoint }: Json) => endpoint.address.socketAddress.address);

describe("two ServiceEntries", () => {
  test("that differ only in ports are one service with the ports of both", async () => {
    const { clusters } = await render(entry("one", { year: 2020 }), entry("two", { year: 2021, port: 81 }));
    expect([...clusters.keys()]).toEqual(expect.arrayContaining(["outbound|80||a.com", "outbound|81||a.com"]));
  });

  test.each([
    ["resolution", { resolution: "STATIC", endpoints: [{ address: "1.1.1.1" }] }],
    ["visibility", { exportTo: ["*"] }],
    ["namespace", { namespace: "other" }],
  ])("of different %s are not added up: the older has the host", async (_, options) => {
    const younger = entry("two", { year: 2021, port: 81, ...options });
    const { clusters } = await render(entry("one", { year: 2020 }), younger);
    expect(clusters.has("outbound|80||a.com")).toBe(true);
    expect(clusters.has("outbound|81||a.com")).toBe(false);
  });

  test("share endpoints, told apart by the number of their port", async () => {
    const { clusters } = await render(
      entry("one", { year: 2020, endpoints: [{ address: "one.com" }] }),
      entry("two", { year: 2021, port: 81, endpoints: [{ address: "two.com" }] }),
      entry("three", { year: 2022, portName: "web", endpoints: [{ address: "three.com" }] }),
    );
    expect(names(clusters.get("outbound|80||a.com"))).toEqual(["one.com", "three.com"]);
    expect(names(clusters.get("outbound|81||a.com"))).toEqual(["two.com"]);
  });

  test("are seen by whom each is exported to", async () => {
    const { clusters } = await render(
      entry("one", { year: 2020, namespace: "other", exportTo: ["."] }),
      entry("two", { year: 2021, namespace: "other", port: 81 }),
    );
    expect(clusters.has("outbound|80||a.com")).toBe(false);
    expect(clusters.has("outbound|81||a.com")).toBe(true);
  });
});

test("every address of a ServiceEntry brings all its endpoints", async () => {
  const { clusters } = await render(entry("one", { year: 2020, addresses: ["240.0.0.1", "240.0.0.2"] }));
  expect(names(clusters.get("outbound|80||a.com"))).toEqual(["a.com", "a.com"]);
});

test("a ServiceEntry for the host of a Service has its address, the Service the clusters", async () => {
  const host = "web.default.svc.cluster.local";
  const other = entry("other", { year: 2020, hosts: [host], port: 81, addresses: ["240.0.0.1"] });
  const tcp = { ...other, spec: { ...Object(other.spec), ports: [{ number: 81, name: "tcp", protocol: "TCP" }] } };
  const { clusters, listeners } = await render(service("web"), tcp);
  expect([...clusters.keys()].filter((name) => name.endsWith(host))).toEqual([`outbound|80||${host}`]);
  expect(listeners.has("240.0.0.1_81")).toBe(true);
});
