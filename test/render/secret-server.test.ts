import { describe, expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { bytesOf, type Proxy, type ResourceType, types } from "../../src/model/index.ts";
import { createJsonPrinter, createRenderer } from "../../src/render/index.ts";
import { istio, pod, service } from "./objects.ts";

const print = createJsonPrinter();
const files = { TLS_SERVER_CERT_CHAIN: "/c", TLS_SERVER_KEY: "/k", TLS_SERVER_ROOT_CERT: "/r" };

/** Which SDS server is asked for each secret, in all that a proxy is sent. */
function asked(metadata: Proxy["metadata"]): Readonly<Record<string, readonly string[]>> {
  const tls = { mode: "MUTUAL", clientCertificate: "/a", privateKey: "/b" };
  const rule = istio("DestinationRule", "web", { host: "web", trafficPolicy: { tls } });
  const offline = createOffline({ objects: [service("web"), rule, pod("web", { proxy: "sidecar" })] });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const renderer = createRenderer(offline.mesh, offline.classOf({ ...proxy, metadata }));
  const json = (type: ResourceType): string =>
    JSON.stringify([...renderer.all(type).values()].map((one) => print(type, bytesOf(one))));
  const found = new Map<string, Set<string>>();
  const all = json(types.listener) + json(types.cluster);
  for (const [, name = "", cluster = ""] of all.matchAll(/"name":"([^"]*)","sdsConfig":.*?"clusterName":"([^"]*)"/g))
    found.set(name, (found.get(name) ?? new Set()).add(cluster));
  return Object.fromEntries([...found].map(([name, clusters]) => [name, [...clusters]]));
}

test("beside an identity server of another's making, files come from a server of their own, and identities do not", () => {
  const own = asked({ ...files });
  expect(own).toMatchObject({ "file-cert:/c~/k": ["sds-grpc"], "file-root:/r": ["sds-grpc"] });
  expect(own).toMatchObject({ "file-cert:/a~/b": ["sds-grpc"], "file-root:system": ["sds-grpc"] });
  const apart = asked({ ...files, "file-credential": "true" });
  expect(apart).toMatchObject({ "file-cert:/c~/k": ["sds-files-grpc"], "file-root:/r": ["sds-files-grpc"] });
  expect(apart).toMatchObject({ "file-cert:/a~/b": ["sds-files-grpc"], "file-root:system": ["sds-files-grpc"] });
  expect(asked({ "file-credential": "true" })).toMatchObject({ default: ["sds-grpc"], ROOTCA: ["sds-grpc"] });
});

describe("credentials of somebody who serves them beside the proxy", () => {
  const tls = { mode: "MUTUAL", credentialName: "sds://shop" };
  const objects = [
    service("web"),
    istio("DestinationRule", "web", {
      host: "web",
      workloadSelector: { matchLabels: { app: "web" } },
      trafficPolicy: { tls },
    }),
    istio("Gateway", "web", {
      selector: { app: "web" },
      servers: [{ port: { number: 8443, name: "https", protocol: "HTTPS" }, hosts: ["*"], tls }],
    }),
  ];
  const sent = (type: "sidecar" | "router", metadata: Proxy["metadata"]): string => {
    const offline = createOffline({ objects: [...objects, pod("web", { proxy: type })] });
    const [proxy] = offline.proxies();
    if (!proxy) throw new Error("no proxy");
    const renderer = createRenderer(offline.mesh, offline.classOf({ ...proxy, metadata }));
    return JSON.stringify(
      [types.listener, types.cluster].flatMap((of) =>
        [...renderer.all(of).values()].map((one) => print(of, bytesOf(one))),
      ),
    );
  };

  test.each(["sidecar", "router"] as const)("are asked there by their whole names: %s", (type) => {
    const text = sent(type, { credential: "true" });
    const named = [...text.matchAll(/"name":"(sds:[^"]*)","sdsConfig":.*?"clusterName":"([^"]*)"/g)];
    expect(new Set(named.map(([, name, cluster]) => `${name} ${cluster}`))).toEqual(
      new Set(["sds://shop sds-external", "sds://shop-cacert sds-external"]),
    );
    expect(text).toContain('"pipe":{"path":"./var/run/secrets/credential-uds/socket"}');
    expect(text).not.toContain("kubernetes://shop");
  });

  test.each(["sidecar", "router"] as const)("come from Kubernetes where nobody does: %s", (type) => {
    const text = sent(type, {});
    expect(text).toContain('"name":"kubernetes://shop"');
    expect(text).not.toContain("sds-external");
  });
});
