/** Secrets that gateways show and check with: replaced while they serve, and given to nobody who may not read them. */
import { once } from "node:events";
import tls from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { istio } from "../render/objects.ts";
import { lacks } from "../require.ts";
import { tlsPort } from "./backend.ts";
import { createCa } from "./ca.ts";
import { serviceOf, startTrafficMesh, type TrafficMesh } from "./mesh.ts";
import type { TrafficProxy } from "./proxy.ts";
import { speakTls } from "./speak-tls.ts";

const host = "one.example";
const secret = (name: string, data: Readonly<Record<string, string>>): KubeObject => ({
  ...{ apiVersion: "v1", kind: "Secret", metadata: { name, namespace: "default" } },
  data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")])),
});

describe.skipIf(lacks("root", "envoy", "iptables"))("credentials", () => {
  let mesh: TrafficMesh;
  let [edge, stranger]: TrafficProxy[] = [];
  const shown = async (...names: readonly string[]): Promise<KubeObject> => {
    const { cert, key } = await mesh.certificate(...names);
    return secret("cert", { "tls.crt": cert, "tls.key": key });
  };
  const call = (of: TrafficProxy | undefined) => speakTls({ host: of?.address ?? "", port: 443, sni: host });

  beforeAll(async () => {
    mesh = await startTrafficMesh({ maySeeSecrets: ({ serviceAccount }) => serviceAccount === "edge" });
    const server = { port: { number: 443, name: "https", protocol: "HTTPS" }, hosts: [host] };
    // Behind it is TLS, which the gateway checks with roots of a Secret.
    await mesh.apply(
      ...serviceOf("app", { address: mesh.serviceAddress(), backends: [await mesh.backend("a")], targetPort: tlsPort }),
      istio("Gateway", "edge", {
        selector: { of: "edge" },
        servers: [{ ...server, tls: { mode: "SIMPLE", credentialName: "cert" } }],
      }),
      istio("VirtualService", "edge", {
        hosts: [host],
        gateways: ["edge"],
        http: [{ route: [{ destination: { host: "app", port: { number: 80 } } }] }],
      }),
      istio("DestinationRule", "app", {
        host: "app",
        trafficPolicy: {
          tls: { mode: "SIMPLE", credentialName: "roots", sni: "a.example" },
          // Roots are for new connections.
          connectionPool: { http: { maxRequestsPerConnection: 1 } },
        },
      }),
      secret("roots", { cacert: mesh.ca }),
      await shown(host),
    );
    edge = await mesh.proxy("router", "edge", { labels: { of: "edge" } });
    stranger = await mesh.proxy("router", "stranger", { labels: { of: "edge" } });
    await mesh.apply();
  });
  afterAll(() => mesh?.close());

  test("a new certificate is shown at once, and neither Envoy nor a connection has to go for it", async () => {
    expect(await call(edge)).toEqual({ body: "a a.example", names: `DNS:${host}` });
    const open = tls.connect({ host: edge?.address ?? "", port: 443, servername: host, rejectUnauthorized: false });
    await once(open, "secureConnect");
    await mesh.apply(await shown(host, "new.example"));
    await expect.poll(() => call(edge)).toEqual({ body: "a a.example", names: `DNS:${host}, DNS:new.example` });
    open.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const [answer] = await once(open, "data");
    open.destroy();
    expect(String(answer)).toContain("200 OK");
    expect(edge?.alive()).toBe(true);
  });

  test("roots to check servers with are replaced likewise", async () => {
    await mesh.apply(secret("roots", { cacert: (await createCa()).roots }));
    await expect.poll(async () => (await call(edge)).body).toContain("upstream connect error");
    await mesh.apply(secret("roots", { cacert: mesh.ca }));
    await expect.poll(async () => (await call(edge)).body).toBe("a a.example");
  });

  test("a proxy of the same namespace and Gateway whose account may not read Secrets is given no key", async () => {
    expect(await call(edge)).toMatchObject({ body: "a a.example" });
    expect(await call(stranger)).toEqual({ body: "", names: "" });
    const dump = (of: TrafficProxy | undefined) => of?.admin("/config_dump?resource=dynamic_active_secrets");
    expect(await dump(edge)).toContain('"kubernetes://cert"');
    expect(await dump(stranger)).not.toContain('"kubernetes://cert"');
    expect(mesh.controlPlane.refusals()).toEqual([]);
  });
});
