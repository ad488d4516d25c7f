/** R24: proxies of this and of older versions are sent what they understand. */
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { istioVersion } from "../../src/model/index.ts";
import { smallMesh } from "./objects.ts";
import { renderProxy } from "./offline.ts";

const minor = Number(istioVersion.split(".")[1]);
const version = (back: number): string => `1.${minor - back}.0`;

/** Whatever any version of Istio is known to be sent in another form. */
const mesh = {
  enableTracing: true,
  extensionProviders: [
    {
      name: "z",
      zipkin: {
        service: "web.default.svc.cluster.local",
        port: 80,
        timeout: "3s",
        traceContextOption: "USE_B3_WITH_W3C_PROPAGATION",
      },
    },
  ],
};
const objects: readonly KubeObject[] = [
  ...smallMesh(),
  {
    apiVersion: "telemetry.istio.io/v1",
    kind: "Telemetry",
    metadata: { name: "t", namespace: "default" },
    spec: {
      tracing: [
        {
          providers: [{ name: "z" }],
          disableContextPropagation: true,
          customTags: { f: { formatter: { value: "%PROTOCOL%" } }, l: { literal: { value: "x" } } },
        },
      ],
    },
  },
];
const sent = async (istio: string): Promise<string> => {
  const { listeners, clusters, routes } = await renderProxy({ objects, mesh, istioVersion: istio });
  return JSON.stringify([[...listeners], [...routes], [...clusters]]);
};

describe("R24: older proxies", () => {
  test("R24: this version and the two before it are sent the same", async () => {
    const now = await sent(version(0));
    expect(await sent(version(1))).toBe(now);
    expect(await sent(version(2))).toBe(now);
    expect(now).toContain('"noContextPropagation":true');
    expect(now).toContain('"collectorService"');
  });

  test.each([
    ["1.30.0", { noContextPropagation: true, collectorService: true, traceContextOption: true, formatter: true }],
    ["1.29.0", { noContextPropagation: false, collectorService: true, traceContextOption: true, formatter: true }],
    ["1.28.0", { noContextPropagation: false, collectorService: false, traceContextOption: true, formatter: false }],
    ["1.27.0", { noContextPropagation: false, collectorService: false, traceContextOption: false, formatter: false }],
  ])("R24: to %s no field goes that its Envoy does not have", async (istio, expected) => {
    const text = await sent(istio);
    for (const [field, there] of Object.entries(expected)) {
      const found = field === "formatter" ? text.includes("%PROTOCOL%") : text.includes(`"${field}"`);
      expect(found, field).toBe(there);
    }
    if (!expected.collectorService) expect(text).toContain('"collectorEndpoint"');
  });
});
