import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { parseAppMetrics, readAppMetrics } from "./app-metrics.ts";

const own = [15020, 15090];

test.each<[string, string | undefined, Readonly<Record<string, string>>, object | undefined]>([
  ["what the injector noted", '{"scrape":"true","path":"/m","port":"9100"}', {}, { port: 9100, path: "/m" }],
  ["Istio's defaults", '{"scrape":"true"}', {}, { port: 80, path: "/metrics" }],
  ["the noted goes first", '{"scrape":"false"}', { "prometheus.io/scrape": "true" }, undefined],
  [
    "the Pod's own",
    undefined,
    { "prometheus.io/scrape": "true", "prometheus.io/port": "1", "prometheus.io/path": "x" },
    { port: 1, path: "/x" },
  ],
  ["none", undefined, { "prometheus.io/port": "1" }, undefined],
  ["ourselves, without end", undefined, { "prometheus.io/scrape": "true", "prometheus.io/port": "15020" }, undefined],
  ["no port", '{"scrape":"true","port":"http"}', {}, undefined],
  ["no JSON", "{", { "prometheus.io/scrape": "true" }, undefined],
])("%s", (_, noted, annotations, expected) => {
  expect(parseAppMetrics(noted, annotations, own)).toEqual(expected);
});

let server: Server | undefined;
afterEach(() => server?.close());

test("the application's answer ends with a newline; one that is no 200 is an error", async () => {
  const app = createServer((request, response) => {
    response.statusCode = request.url === "/metrics" ? 200 : 404;
    response.end(`accept="${request.headers.accept}"`);
  });
  server = app;
  await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
  const { port } = app.address() as AddressInfo;
  expect(await readAppMetrics({ port, path: "/metrics" }, "127.0.0.1")).toBe('accept="text/plain;version=0.0.4"\n');
  await expect(readAppMetrics({ port, path: "/x" }, "127.0.0.1")).rejects.toThrow("HTTP 404");
});
