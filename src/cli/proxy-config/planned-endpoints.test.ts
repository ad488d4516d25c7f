import { expect, test } from "vitest";
import { viewEndpoints } from "./endpoint.ts";
import { clustersOfDump } from "./planned-endpoints.ts";
import { createProtoJson } from "./proto-json.ts";

const address = (ip: string): object => ({ address: { socketAddress: { address: ip, portValue: 80 } } });

test("endpoints that the control plane would send are shown as Envoy would show them", async () => {
  const planned = {
    configs: [
      {
        "@type": "type.googleapis.com/envoy.admin.v3.EndpointsConfigDump",
        dynamicEndpointConfigs: [
          {
            endpointConfig: {
              clusterName: "outbound|80||web",
              endpoints: [
                { lbEndpoints: [{ endpoint: address("10.0.0.2"), healthStatus: "DRAINING" }] },
                { lbEndpoints: [{ endpoint: address("10.0.0.1") }] },
              ],
            },
          },
        ],
      },
    ],
  };
  const text = JSON.stringify(clustersOfDump(planned));
  expect(viewEndpoints(text, {}, await createProtoJson()).short("alone")).toBe(
    [
      "ENDPOINT        STATUS       OUTLIER CHECK     CLUSTER",
      "10.0.0.1:80     HEALTHY      OK                outbound|80||web",
      "10.0.0.2:80     DRAINING     OK                outbound|80||web",
      "",
    ].join("\n"),
  );
});

test("what is no dump has no endpoints", () => {
  for (const dump of [undefined, [], { configs: "x" }]) expect(clustersOfDump(dump)).toEqual({ clusterStatuses: [] });
});
