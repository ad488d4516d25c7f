/** VirtualServices with mistakes: the route with the mistake answers for it, all others work, and a real Envoy takes the result. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, describe, expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { RouteConfigurationSchema } from "../../src/gen/envoy/config/route/v3/route_pb.js";
import { bytesOf, type HTTPMatchRequest, type HTTPRoute, types } from "../../src/model/index.ts";
import { createRenderer } from "../../src/render/index.ts";
import { findEnvoy, lacks } from "../require.ts";
import { istio, smallMesh } from "./objects.ts";
import { type Json, renderProxy } from "./offline.ts";

const route = [{ destination: { host: "web" } }];
const many = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`h${i}`, "v"]));

/** Refused by Envoy as written: these answer 500. */
const brokenRoutes: Readonly<Record<string, HTTPRoute>> = {
  "no destination": {},
  "no weight": { route: [{ destination: { host: "a" } }, { destination: { host: "b" }, weight: -1 }] },
  "weights beyond 32 bits": { route: ["a", "b", "c"].map((host) => ({ destination: { host }, weight: 2147483647 })) },
  "percent sign": { route, headers: { request: { set: { a: "100%" } } } },
  "percent sign of a destination": {
    route: [{ destination: { host: "web" }, headers: { response: { add: { a: "%1" } } } }],
  },
  "line end in a header": { route, headers: { request: { set: { a: "x\r\ny" } } } },
  "header without name": { route, headers: { response: { remove: [""] } } },
  "too many headers": { route, headers: { request: { set: many(1001) } } },
  "line end in the authority": { route, rewrite: { authority: "a\nb" } },
  "line end in the path": { route, rewrite: { uri: "/a\nb" } },
  "bad pattern to rewrite": { route, rewrite: { uriRegexRewrite: { match: "(", rewrite: "/" } } },
  "empty pattern to rewrite": { route, rewrite: { uriRegexRewrite: { match: "", rewrite: "" } } },
  "redirect with 304": { redirect: { redirectCode: 304 } },
  "redirect with a line end": { redirect: { uri: "/a\nb" } },
  "response below 200": { directResponse: { status: 100 } },
  "fault without time": { route, fault: { delay: { fixedDelay: "0s", percent: 1 } } },
  "fault with status 600": { route, fault: { abort: { httpStatus: 600 } } },
};

/** Odd, but with a meaning. */
const oddRoutes: Readonly<Record<string, HTTPRoute>> = {
  "unknown subset and host": { route: [{ destination: { host: "nowhere", subset: "none", port: { number: 99999 } } }] },
  "negative and endless times": {
    route,
    timeout: "-1s",
    retries: { attempts: 1, perTryTimeout: "999999999999s", backoff: "0s" },
  },
  "percentages beyond 100": {
    route,
    mirror: { host: "a" },
    mirrorPercentage: { value: 1e9 },
    fault: { abort: { grpcStatus: "?" } },
  },
  "origins that match nothing": {
    route,
    corsPolicy: { allowOrigins: [{}, { prefix: "" }, { regex: "(" }], allowHeaders: ["a\nb"], maxAge: "-1s" },
  },
  "a body beyond the bound": { directResponse: { status: 200, body: { string: "x".repeat(1024 * 1024 + 1) } } },
};

const brokenMatches: readonly HTTPMatchRequest[] = [
  { uri: { regex: "(" } },
  { uri: { regex: "" } },
  { uri: { regex: "*" } },
  { uri: { regex: "(?!a)" } },
  { uri: { regex: "(a{0,1000}){0,1000}" } },
  { headers: { "": { exact: "a" } } },
  { headers: { "a\nb": { exact: "a" } } },
  { withoutHeaders: { a: { regex: "[" } } },
  { queryParams: { ["q".repeat(2000)]: { exact: "a" } } },
  { headers: { "@request.auth.claims..a": { exact: "a" } } },
];

const hosts = ["web", "*", "", "foo bar", "*.", "a\nb", "UPPER.example", "upper.example", "[::1]", "1.2.3.4", "a:80"];

async function routesOf(http: readonly HTTPRoute[], profile: "envoy" | "istio-proxy" = "envoy"): Promise<Json> {
  const objects = [...smallMesh(), istio("VirtualService", "v", { hosts, http })];
  return (await renderProxy({ objects, profile })).routes.get("80");
}

const webRoutes = (config: Json): Json[] =>
  config.virtualHosts.find(({ name }: Json) => name === "web.default.svc.cluster.local:80").routes;

const named = (routes: Readonly<Record<string, HTTPRoute>>): HTTPRoute[] =>
  Object.entries(routes).map(([name, spec]) => ({ name, match: [{ uri: { exact: `/${name}` } }], ...spec }));

test("a broken route answers 500, and those around it work", async () => {
  const routes = webRoutes(await routesOf([...named(brokenRoutes), { name: "last", route }]));
  expect(routes.slice(0, -1).map(({ name, directResponse }) => [name, directResponse?.status])).toEqual(
    Object.keys(brokenRoutes).map((name) => [name, 500]),
  );
  expect(routes.at(-1)).toMatchObject({
    name: "last",
    route: { cluster: "outbound|80||web.default.svc.cluster.local" },
  });
});

test("a match that cannot be taken matches nothing", async () => {
  const routes = webRoutes(
    await routesOf([
      { name: "first", match: brokenMatches, route },
      { name: "last", route },
    ]),
  );
  expect(routes.map(({ name }) => name)).toEqual(["last"]);
});

test("10,000 routes are rendered in order", () => {
  const http = Array.from({ length: 10_000 }, (_, i) => ({
    name: `r${i}`,
    match: [{ uri: { exact: `/${i}` } }],
    route,
  }));
  const offline = createOffline({ objects: [...smallMesh(), istio("VirtualService", "v", { hosts: ["web"], http })] });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const resource = createRenderer(offline.mesh, offline.classOf(proxy)).get(types.route, "80");
  const [host] = fromBinary(RouteConfigurationSchema, bytesOf(resource ?? { pieces: [] })).virtualHosts;
  expect(host?.routes.map(({ name }) => name)).toEqual(http.map(({ name }) => name));
});

describe.skipIf(lacks("envoy"))("a stock Envoy", () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-routes-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const filter = (name: string, type: string): object => ({
    name,
    typedConfig: { "@type": `type.googleapis.com/envoy.extensions.filters.http.${type}` },
  });
  const validate = (routeConfig: Json): string => {
    const file = join(dir, "bootstrap.json");
    const manager = {
      "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
      statPrefix: "test",
      routeConfig,
      httpFilters: [
        filter("envoy.filters.http.cors", "cors.v3.Cors"),
        filter("envoy.filters.http.fault", "fault.v3.HTTPFault"),
        filter("envoy.filters.http.router", "router.v3.Router"),
      ],
    };
    const listener = {
      name: "test",
      address: { socketAddress: { address: "127.0.0.1", portValue: 1 } },
      filterChains: [{ filters: [{ name: "http", typedConfig: manager }] }],
    };
    const runtime = { layers: [{ name: "static", staticLayer: { "re2.max_program_size.error_level": 32768 } }] };
    writeFileSync(file, JSON.stringify({ layeredRuntime: runtime, staticResources: { listeners: [listener] } }));
    const run = spawnSync(findEnvoy() ?? "", ["--mode", "validate", "-c", file, "-l", "error"], { encoding: "utf8" });
    return run.status === 0 ? "accepted" : run.stderr;
  };

  test("accepts all of it in one configuration", async () => {
    const odd: HTTPRoute = {
      name: "matches",
      match: [...brokenMatches, { uri: { prefix: "" }, headers: { a: { prefix: "" } } }],
      route,
    };
    expect(validate(await routesOf([...named(brokenRoutes), ...named(oddRoutes), odd]))).toBe("accepted");
  });

  test("refuses one with a single broken route", async () => {
    const config = await routesOf([{ route }]);
    webRoutes(config)[0].route.prefixRewrite = "/a\nb";
    expect(validate(config)).toContain("PrefixRewrite");
  });
});
