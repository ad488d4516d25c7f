/** Objects that multiply, or are large: looked at in bounded work and in steps. */
import { expect, test } from "vitest";
import { analysisSteps } from "./analyze.ts";
import type { AnalysisMessage } from "./message.ts";

const repeat = <T>(count: number, item: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i));
const object = (kind: string, name: string, spec: object): object => ({
  apiVersion: "networking.istio.io/v1",
  kind,
  metadata: { name, namespace: "shop" },
  spec,
});

function analysed(...cluster: readonly object[]): { messages: readonly AnalysisMessage[]; steps: number } {
  const work = analysisSteps({ files: [], cluster }, { now: new Date(0), own: true, threshold: "Warning" });
  for (let steps = 1; ; steps++) {
    const { done, value } = work.next();
    if (done) return { messages: value, steps };
  }
}

const entry = (name: string, protocol: string, more: object = {}): object =>
  object("ServiceEntry", name, {
    hosts: ["a.com"],
    ports: [{ number: 80, name: "p", protocol }],
    resolution: "DNS",
    ...more,
  });

test("hosts, ports and namespaces of one ServiceEntry do not multiply", () => {
  const large = entry("large", "HTTP", {
    hosts: repeat(256, (i) => `h${i}.com`),
    ports: repeat(256, (i) => ({ number: i + 1, name: `p${i}`, protocol: "HTTP" })),
    exportTo: repeat(20_000, (i) => `n${i}`),
  });
  const { messages } = analysed(large, entry("one", "HTTP"), entry("two", "TCP", { addresses: ["240.1.1.1"] }));
  expect(messages.filter(({ code }) => code === "IST0177").map(({ name }) => name)).toEqual(["one", "two"]);
});

test("a host is known to those that it is exported to, the later entry before the earlier, a wildcard last", () => {
  const route = (host: string): object =>
    object("VirtualService", `to-${host.replaceAll(".", "-")}`, {
      hosts: ["x.com"],
      http: [{ route: [{ destination: { host, port: { number: 90 } } }] }],
    });
  const told = (...cluster: readonly object[]): readonly string[] =>
    analysed(...cluster)
      .messages.filter(({ code }) => code === "IST0101")
      .map(({ name }) => name);
  const ports = [{ number: 90, name: "p", protocol: "HTTP" }];
  const known = entry("known", "HTTP", { ports });
  expect(told(known, route("a.com"))).toEqual([]);
  expect(told(known, route("b.com"))).toEqual(["to-b-com"]);
  expect(told(entry("away", "HTTP", { exportTo: ["other"] }), route("a.com"))).toEqual(["to-a-com"]);
  expect(told(entry("wild", "HTTP", { hosts: ["*.com"], ports }), route("b.com"))).toEqual([]);
  expect(told(entry("wild", "HTTP", { hosts: ["*.com"], ports, exportTo: ["other"] }), route("b.com"))).toEqual([
    "to-b-com",
  ]);
});

test("each object is a step of its own", () => {
  const few = analysed(entry("one", "HTTP")).steps;
  const many = analysed(...repeat(50, (i) => entry(`e${i}`, "HTTP", { hosts: [`h${i}.com`] }))).steps;
  expect(many - few).toBeGreaterThanOrEqual(2 * 49);
});

test("each route of a VirtualService is a step of its own", () => {
  const routes = (count: number): object =>
    object("VirtualService", "large", {
      hosts: ["x.com"],
      http: repeat(count, (i) => ({
        match: [{ uri: { exact: `/${i}` } }],
        route: [{ destination: { host: "a.com" } }],
      })),
    });
  expect(analysed(routes(300)).steps - analysed(routes(10)).steps).toBeGreaterThanOrEqual(290);
});
