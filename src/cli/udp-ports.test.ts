/** A number that a Service has for UDP and for TCP, through the front door: files and a question in, what is said of TCP out. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runCli } from "./testing.ts";
import { clientAndWeb, edgeGateway } from "./why/testing.ts";

const both = [
  "{ name: quic, port: 8443, targetPort: 8443, protocol: UDP }",
  "{ name: http, port: 8443, targetPort: 8080, protocol: TCP }",
];
const only = "{ name: dns, port: 53, targetPort: 5353, protocol: UDP }";

const serviceOf = (name: string, app: string, ports: readonly string[], more = ""): string => `apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: shop }
spec: { selector: { app: ${app} }, ports: [${ports.join(", ")}]${more} }
---
`;

const gateway = `apiVersion: networking.istio.io/v1
kind: Gateway
metadata: { name: edge, namespace: shop }
spec:
  selector: { app: edge }
  servers: [{ port: { number: 8443, name: http, protocol: HTTP }, hosts: ["*"] }]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: web, namespace: shop }
spec:
  hosts: [shop.example.com]
  gateways: [edge]
  http: [{ route: [{ destination: { host: web, port: { number: 8443 } } }] }]
`;

describe.each([
  ["UDP first", both],
  ["TCP first", both.toReversed()],
])("%s", (_, ports) => {
  const dir = mkdtempSync(join(tmpdir(), "fl-udp-ports-"));
  const file = join(dir, "mesh.yaml");
  writeFileSync(
    file,
    [
      clientAndWeb,
      edgeGateway.replace(/ports: .*\]/, `ports: [${ports.join(", ")}]`),
      serviceOf("web", "web", [...ports, only]),
      serviceOf(
        "pods",
        "web",
        ports.map((port) => port.replace("8080", "8443")),
        ", clusterIP: None",
      ),
      gateway,
    ].join(""),
  );
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const why = (...args: readonly string[]) => runCli(["why", "-f", file, ...args]);

  test.each([
    ["a sidecar's", ["client.shop", "web:8443/x"], /^reaches 10\.0\.0\.1:8080 of outbound\|8443\|\|web\.shop/],
    [
      "one to a headless Service",
      ["client.shop", "pods:8443/x"],
      /^reaches 10\.0\.0\.1:8443[\s\S]*cluster {9}inbound\|8443/,
    ],
    ["one from outside", ["outside", "web.shop:8443/x"], /^reaches 10\.0\.0\.1:8080/],
    [
      "one to a gateway",
      ["edge.shop", "http://shop.example.com:8443/x"],
      /^reaches 10\.0\.0\.1:8080 of outbound\|8443\|\|web/,
    ],
  ])("why: a request, %s, is followed on TCP", async (_name, args, expected) => {
    const { stdout, stderr } = await why(...args);
    expect(stdout || stderr).toMatch(expected);
  });

  test("why: the protocol that nobody wrote is that of TCP", async () => {
    const { stdout } = await why("client.shop", "web:8443", "-o", "json");
    expect(JSON.parse(stdout).request).toMatch(/^GET http:\/\/web:8443/);
  });

  test("why: a number that is for UDP alone is none to connect to", async () => {
    const { status, stderr } = await why("client.shop", "web:53");
    expect([status, stderr]).toEqual([1, expect.stringContaining("web.shop.svc.cluster.local has no port 53")]);
    expect(stderr).toContain("53 for UDP");
  });

  test("describe: each port has the target of its own name, and that for UDP no routes", async () => {
    const { stdout } = await runCli(["describe", "pod", "web.shop", "-f", file, "-o", "json"]);
    const { services } = JSON.parse(stdout);
    const { ports: shown } = services.find(({ name }: { name: string }) => name === "web.shop");
    const of = (name: string) => shown.find((port: { name: string }) => port.name === name);
    expect(of("quic")).toMatchObject({ port: 8443, targetPort: 8443, routes: [] });
    expect(of("http")).toMatchObject({ port: 8443, targetPort: 8080, routes: [{ requests: "all requests" }] });
  });
});
