/** gRPC's own xDS client with the agent's bootstrap: routes, endpoints, mutual TLS and authorisation, live. */
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { freePorts } from "../free-ports.ts";
import type { Outcome } from "./app-process.ts";
import { type GrpcApp, type GrpcMesh, namespace, startGrpcMesh } from "./mesh.ts";

const host = "orders.shop.svc.cluster.local";
const orders = `xds:///${host}:7070`;
const [ok, permissionDenied] = [0, 7];
const inShop = (kind: string, name: string, spec: Readonly<Record<string, unknown>>): KubeObject => {
  const group = kind === "AuthorizationPolicy" ? "security.istio.io" : "networking.istio.io";
  return { apiVersion: `${group}/v1`, kind, metadata: { name, namespace }, spec };
};

interface Server {
  readonly name: string;
  readonly app: string;
  readonly address: string;
  /** Its label tells clients that it takes mTLS; gRPC then takes nothing else. */
  readonly mtls: boolean;
}

const servers: readonly Server[] = [
  { name: "v1", app: "orders", address: "127.0.0.2", mtls: true },
  { name: "v2", app: "orders", address: "127.0.0.3", mtls: true },
  { name: "open", app: "prices", address: "127.0.0.4", mtls: false },
];

const labelsOf = ({ name, app, mtls }: Server) => ({
  app,
  version: name,
  ...(mtls ? { "security.istio.io/tlsMode": "istio" } : {}),
});

const subsets = ["v1", "v2"].map((name) => ({ name, labels: { version: name } }));
const overMtls = inShop("DestinationRule", "orders", {
  host,
  trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } },
  subsets,
});

function objectsOf(ports: readonly number[]): readonly KubeObject[] {
  const services = ["orders", "prices"].map(
    (name): KubeObject => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace },
      spec: {
        clusterIP: "10.96.0.1",
        selector: { app: name },
        ports: [{ name: "grpc", port: 7070, targetPort: "grpc", protocol: "TCP" }],
      },
    }),
  );
  return [...services, overMtls, ...servers.flatMap((server, i) => serverObjects(server, ports[i] ?? 0))];
}

function serverObjects(server: Server, port: number): readonly KubeObject[] {
  const { name, app, address } = server;
  return [
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, labels: labelsOf(server) },
      spec: {
        serviceAccountName: name,
        containers: [{ name: "app", ports: [{ name: "grpc", containerPort: port, protocol: "TCP" }] }],
      },
      status: {
        phase: "Running",
        podIP: address,
        podIPs: [{ ip: address }],
        conditions: [{ type: "Ready", status: "True" }],
      },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name, namespace, labels: { "kubernetes.io/service-name": app } },
      addressType: "IPv4",
      ports: [{ name: "grpc", port, protocol: "TCP" }],
      endpoints: [{ addresses: [address], conditions: { ready: true }, targetRef: { kind: "Pod", name, namespace } }],
    },
  ];
}

describe("applications without a proxy", () => {
  let mesh: GrpcMesh;
  let front: GrpcApp;
  let ports: readonly number[];

  beforeAll(async () => {
    ports = await freePorts(servers.length);
    mesh = await startGrpcMesh(objectsOf(ports));
    await Promise.all(
      servers.map(async (server, i) => {
        const { name, address } = server;
        const app = await mesh.start(name, address, labelsOf(server), ["server", `0.0.0.0:${ports[i]}`, name]);
        await app.told(({ serving }) => serving === true);
      }),
    );
    front = await mesh.start("front", "127.0.0.9", { app: "front" }, ["client"]);
  });
  afterAll(() => mesh?.close(), 60_000);

  /** A change reaches the application when its own client has taken it, which nobody is told of. */
  const callsUntil = (good: (outcomes: readonly Outcome[]) => boolean, headers = {}) =>
    expect
      .poll(
        async () => {
          const outcomes: Outcome[] = [];
          for (let i = 0; i < 6; i++) outcomes.push(await front.call(orders, "Get", headers));
          return good(outcomes) ? "as wanted" : outcomes;
        },
        { timeout: 60_000, interval: 100 },
      )
      .toBe("as wanted");

  test("the agent's bootstrap names its socket, its certificates and the node", () => {
    const bootstrap = JSON.parse(readFileSync(join(front.folder, "etc/istio/proxy/grpc-bootstrap.json"), "utf8"));
    const data = join(front.folder, "var/lib/istio/data");
    expect(bootstrap).toMatchObject({
      xds_servers: [
        {
          server_uri: `unix://${front.folder}/etc/istio/proxy/XDS`,
          channel_creds: [{ type: "insecure" }],
          server_features: ["xds_v3"],
        },
      ],
      node: {
        id: "sidecar~127.0.0.9~front.shop~shop.svc.cluster.local",
        locality: {},
        metadata: { GENERATOR: "grpc", NAMESPACE: namespace, LABELS: { app: "front" } },
      },
      certificate_providers: {
        default: {
          plugin_name: "file_watcher",
          config: {
            private_key_file: join(data, "key.pem"),
            certificate_file: join(data, "cert-chain.pem"),
            ca_certificate_file: join(data, "root-cert.pem"),
            refresh_interval: "900s",
          },
        },
      },
      server_listener_resource_name_template: "xds.istio.io/grpc/lds/inbound/%s",
    });
  });

  test("calls go to all endpoints over mutual TLS, and servers know who calls", async () => {
    await callsUntil(
      (outcomes) =>
        new Set(outcomes.map(({ server }) => server)).size === 2 &&
        outcomes.every(({ caller }) => caller === `URI:spiffe://cluster.local/ns/${namespace}/sa/front`),
    );
    await expect(plainConnection(ports[0] ?? 0)).rejects.toThrow();
  });

  test("a server that promises no mTLS is called without, by its short name too", async () => {
    expect(await front.call("xds:///prices:7070", "Get")).toMatchObject({ code: ok, server: "open", caller: "" });
  });

  test("routes and subsets follow the rules while calls go on", async () => {
    mesh.controlPlane.apply([
      inShop("VirtualService", "orders", {
        hosts: [host],
        http: [
          { match: [{ headers: { "x-tester": { exact: "yes" } } }], route: [{ destination: { host, subset: "v2" } }] },
          { route: [{ destination: { host, subset: "v1" } }], timeout: "15s" },
        ],
      }),
    ]);
    await callsUntil((outcomes) => outcomes.every(({ server }) => server === "v1"));
    await callsUntil((outcomes) => outcomes.every(({ server }) => server === "v2"), { "x-tester": "yes" });
  });

  test("policies decide by the caller's identity and the method", async () => {
    const may = (account: string) =>
      inShop("AuthorizationPolicy", "orders", {
        selector: { matchLabels: { app: "orders" } },
        rules: [
          {
            from: [{ source: { principals: [`cluster.local/ns/${namespace}/sa/${account}`] } }],
            to: [{ operation: { paths: ["/shop.Orders/*"] } }],
          },
        ],
      });
    mesh.controlPlane.apply([may("somebody-else")]);
    await callsUntil((outcomes) => outcomes.every(({ code }) => code === permissionDenied));
    mesh.controlPlane.apply([
      may("front"),
      inShop("AuthorizationPolicy", "no-drop", {
        action: "DENY",
        rules: [{ to: [{ operation: { paths: ["/shop.Orders/Drop"] } }] }],
      }),
    ]);
    await callsUntil((outcomes) => outcomes.every(({ code }) => code === ok));
    await expect.poll(async () => (await front.call(orders, "Drop")).code).toBe(permissionDenied);
    // A policy that allows nothing must not be lost on the way.
    mesh.controlPlane.apply([inShop("AuthorizationPolicy", "orders", {})]);
    await callsUntil((outcomes) => outcomes.every(({ code }) => code === permissionDenied));
  });

  test("nothing that was sent has been refused", () => {
    expect(mesh.controlPlane.refusals()).toEqual([]);
  });
});

/** Rejects where the server does not answer HTTP/2 in the clear. */
function plainConnection(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const session = connect(`http://127.0.0.1:${port}`);
    session.once("error", reject);
    session.once("close", () => reject(new Error("closed")));
    session.once("remoteSettings", () => {
      resolve();
      session.destroy();
    });
  });
}
