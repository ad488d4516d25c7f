/** What Telemetry objects, mesh config and ProxyConfig do to logs, traces and metrics, objects in to JSON out. */
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { smallMesh } from "./objects.ts";
import { type Json, type RenderInput, renderProxy } from "./offline.ts";

const telemetry = (name: string, spec: Readonly<Record<string, unknown>>, namespace = "default"): KubeObject => ({
  apiVersion: "telemetry.istio.io/v1",
  kind: "Telemetry",
  metadata: { name, namespace },
  spec,
});

type Mesh = NonNullable<RenderInput["mesh"]>;

/** The connection manager of the way out and of the way in. */
async function managers(
  objects: readonly KubeObject[],
  mesh: Mesh = {},
): Promise<{ out: Json; into: Json; listeners: ReadonlyMap<string, Json> }> {
  const { listeners } = await renderProxy({ objects: [...smallMesh(), ...objects], mesh });
  const manager = (listener: Json): Json =>
    listener.filterChains
      .flatMap((chain: Json) => chain.filters)
      .find((filter: Json) => filter.name.endsWith("connection_manager")).typedConfig;
  return { out: manager(listeners.get("0.0.0.0_80")), into: manager(listeners.get("virtualInbound")), listeners };
}

const paths = (manager: Json): readonly string[] => (manager.accessLog ?? []).map((log: Json) => log.typedConfig.path);
const file = (name: string, more: object = {}) => ({ name, envoyFileAccessLog: { path: `/${name}`, ...more } });
const web = { service: "web.default.svc.cluster.local", port: 80 };

describe("access logs", () => {
  const extensionProviders = [
    file("a"),
    file("b"),
    { name: "lost", envoyHttpAls: { service: "nobody.default.svc.cluster.local", port: 1 } },
  ];

  test("mesh config's file, in text with a newline, or in JSON", async () => {
    const text = await managers([], { accessLogFile: "/log", accessLogFormat: "x" });
    expect(text.out.accessLog[0].typedConfig.logFormat).toEqual({ textFormatSource: { inlineString: "x\n" } });
    const json = await managers([], { accessLogFile: "/log", accessLogEncoding: "JSON", accessLogFormat: '{"a":"b"}' });
    expect(json.out.accessLog[0].typedConfig.logFormat.jsonFormat).toEqual({ a: "b" });
    const broken = await managers([], { accessLogFile: "/log", accessLogEncoding: "JSON", accessLogFormat: "{" });
    expect(broken.out.accessLog[0].typedConfig.logFormat.jsonFormat.method).toBe("%REQ(:METHOD)%");
  });

  test("listeners log only what found no chain, unless told not to", async () => {
    const on = (await managers([], { accessLogFile: "/log" })).listeners.get("virtualInbound");
    expect(on.accessLog[0].filter).toEqual({ responseFlagFilter: { flags: ["NR"] } });
    const off = (await managers([], { accessLogFile: "/log", disableEnvoyListenerLog: true })).listeners.get(
      "virtualInbound",
    );
    expect(off.accessLog).toBeUndefined();
  });

  test("the nearest object that names providers decides which; modes are kept apart", async () => {
    const root = telemetry("root", { accessLogging: [{ providers: [{ name: "a" }] }] }, "istio-system");
    const own = telemetry("own", { accessLogging: [{ match: { mode: "CLIENT" }, providers: [{ name: "B" }] }] });
    const { out, into } = await managers([root, own], { extensionProviders });
    expect([paths(out), paths(into)]).toEqual([["/b"], ["/a"]]);
  });

  test("a filter is a CEL expression; disabled is disabled, not the mesh's file", async () => {
    const rules = [
      { providers: [{ name: "a" }], filter: { expression: "x" } },
      { match: { mode: "SERVER" }, disabled: true },
    ];
    const { out, into } = await managers([telemetry("t", { accessLogging: rules })], {
      extensionProviders,
      accessLogFile: "/mesh",
    });
    expect(out.accessLog[0].filter.extensionFilter.typedConfig.expression).toBe("x");
    expect(paths(into)).toEqual([]);
  });

  test("a provider that does not exist, or whose service is unknown, is as if it had not been named", async () => {
    const rules = [{ providers: [{ name: "lost" }, { name: "never" }] }];
    const { out } = await managers([telemetry("t", { accessLogging: rules })], {
      extensionProviders,
      accessLogFile: "/mesh",
    });
    expect(paths(out)).toEqual(["/mesh"]);
  });
});

describe("traces", () => {
  const zipkin = { name: "z", zipkin: web };
  const traced = async (objects: readonly KubeObject[], mesh: Mesh = {}) => {
    const { out, into } = await managers(objects, { extensionProviders: [zipkin], ...mesh });
    return [out.tracing, into.tracing];
  };

  test("mesh config samples one percent, more than all is one percent too, and switches off", async () => {
    const sample = async (sampling?: number) =>
      (await traced([], sampling === undefined ? {} : { defaultConfig: { tracing: { sampling } } }))[0].randomSampling
        .value;
    expect([await sample(), await sample(42.5), await sample(101)]).toEqual([1, 42.5, 1]);
    expect(await traced([], { enableTracing: false })).toEqual([undefined, undefined]);
  });

  test("Telemetry: provider, sampling also of zero, tags, and reporting by direction", async () => {
    const rules = [
      {
        providers: [{ name: "z" }],
        randomSamplingPercentage: 0,
        customTags: { t: { literal: { value: "v" } } },
        enableIstioTags: false,
      },
      { match: { mode: "SERVER" }, disableSpanReporting: true },
    ];
    const [out, into] = await traced([telemetry("t", { tracing: rules })]);
    expect(out.randomSampling).toEqual({});
    expect(out.customTags).toEqual([{ tag: "t", literal: { value: "v" } }]);
    expect(out.provider.typedConfig.collectorCluster).toBe("outbound|80||web.default.svc.cluster.local");
    expect(into).toBeUndefined();
  });

  test("a collector without a timeout has one, because Envoy wants one; a header that is none costs the tracer alone", async () => {
    const otel = (http: object) => [{ name: "z", opentelemetry: { ...web, http } }];
    const rules = [telemetry("t", { tracing: [{ providers: [{ name: "z" }] }] })];
    const [out] = await traced(rules, { extensionProviders: otel({ path: "/v1/traces" }) });
    expect(out.provider.typedConfig.httpService.httpUri.timeout).toBe("5s");
    const bad = otel({ path: "/", headers: [{ name: "", value: "x" }] });
    expect(await traced(rules, { extensionProviders: bad })).toEqual([undefined, undefined]);
  });

  test("a provider that does not exist traces nothing, rather than something else", async () => {
    expect(await traced([telemetry("t", { tracing: [{ providers: [{ name: "nope" }] }] })])).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe("metrics", () => {
  const metrics = { defaultProviders: { metrics: ["prometheus"] } };
  const stats = (manager: Json): Json =>
    manager.httpFilters.find((filter: Json) => filter.name === "istio.stats")?.typedConfig;

  test("none without a provider, Istio's filter with one", async () => {
    expect(stats((await managers([])).out)).toBeUndefined();
    expect(stats((await managers([], metrics)).into)).toEqual({
      "@type": "type.googleapis.com/stats.PluginConfig",
      disableHostHeaderFallback: true,
    });
  });

  test("overrides add up; all metrics off in one direction is no filter there", async () => {
    const root = telemetry(
      "root",
      {
        metrics: [
          {
            overrides: [
              { match: { metric: "REQUEST_COUNT" }, tagOverrides: { a: { value: "x" }, b: { operation: "REMOVE" } } },
            ],
          },
        ],
      },
      "istio-system",
    );
    const own = telemetry("own", {
      metrics: [
        {
          reportingInterval: "5s",
          overrides: [
            { match: { mode: "SERVER" }, disabled: true },
            { match: { metric: "REQUEST_COUNT", mode: "CLIENT" }, tagOverrides: { a: { value: "y" } } },
          ],
        },
      ],
    });
    const { out, into } = await managers([root, own], metrics);
    expect(stats(into)).toBeUndefined();
    expect(stats(out)).toMatchObject({
      tcpReportingDuration: "5s",
      metrics: [{ name: "requests_total", dimensions: { a: "y" }, tagsToRemove: ["b"] }],
    });
  });
});

describe("what a proxy says in headers, and how long it waits", () => {
  test.each<[string, object, object]>([
    ["server", { server: { value: "me" } }, { serverName: "me" }],
    ["no server", { server: { disabled: true } }, { serverHeaderTransformation: "PASS_THROUGH" }],
    ["request id", { requestId: { disabled: true } }, { generateRequestId: false }],
    [
      "certificates",
      { forwardedClientCert: "SANITIZE" },
      { setCurrentClientCertDetails: { subject: true, dns: true, uri: true } },
    ],
    ["forwarded port", { xForwardedPort: { enabled: true } }, { appendXForwardedPort: true }],
  ])("%s", async (_, proxyHeaders, expected) => {
    expect((await managers([], { defaultConfig: { proxyHeaders } })).into).toMatchObject(expected);
  });

  test("limits of the connection; a negative one is none", async () => {
    const connectionSettings = {
      httpIdleTimeout: "9s",
      httpMaxConcurrentStreams: 7,
      http2InitialStreamWindowSize: -1,
      httpHeadersWithUnderscoresAction: "HEADERS_WITH_UNDERSCORES_DROP_HEADER",
    };
    expect((await managers([], { defaultConfig: { connectionSettings } })).out).toMatchObject({
      commonHttpProtocolOptions: { idleTimeout: "9s", headersWithUnderscoresAction: "DROP_HEADER" },
      http2ProtocolOptions: { maxConcurrentStreams: 7 },
    });
  });

  test("limits that Envoy would refuse are none, and the listener stays", async () => {
    const connectionSettings = { httpMaxConcurrentStreams: 0, httpIdleTimeout: "9s" };
    expect((await managers([], { defaultConfig: { connectionSettings } })).out.http2ProtocolOptions).toBeUndefined();
  });

  test.each<[string, object]>([
    ["NONE", { normalizePath: false, pathWithEscapedSlashesAction: "KEEP_UNCHANGED" }],
    ["BASE", { normalizePath: true, pathWithEscapedSlashesAction: "KEEP_UNCHANGED" }],
    ["MERGE_SLASHES", { normalizePath: true, mergeSlashes: true, pathWithEscapedSlashesAction: "KEEP_UNCHANGED" }],
    [
      "DECODE_AND_MERGE_SLASHES",
      { normalizePath: true, mergeSlashes: true, pathWithEscapedSlashesAction: "UNESCAPE_AND_FORWARD" },
    ],
  ])("R20: path normalization %s", async (normalization, expected) => {
    expect((await managers([], { pathNormalization: { normalization } })).into).toMatchObject(expected);
  });
});
