/** Through the front door: files and a request in, the verdict and its reasons out. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "./testing.ts";
import { clientAndWeb, edgeGateway } from "./why/testing.ts";

const mesh = `${clientAndWeb}${edgeGateway}apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  selector: { app: web }
  ports:
    - { name: http, port: 80, targetPort: 8080 }
    - { name: tcp, port: 90, targetPort: 9090 }
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: deny-admin, namespace: shop }
spec:
  selector: { matchLabels: { app: web } }
  action: DENY
  rules:
    - from: [{ source: { principals: ["*/sa/nobody"] } }]
    - to:
        - operation:
            paths:
              - /secret
              - /admin*
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: web, namespace: shop }
spec:
  hosts: [web, shop.example.com]
  gateways: [mesh, edge]
  http:
    - name: old
      match: [{ uri: { prefix: /old } }]
      redirect: { uri: /new }
    - name: rest
      rewrite: { uri: /admin }
      match: [{ uri: { exact: /hidden } }]
      route: [{ destination: { host: web, port: { number: 80 } } }]
    - name: split
      fault: { abort: { httpStatus: 418, percentage: { value: 25 } } }
      match: [{ uri: { exact: /split } }]
      route: [{ destination: { host: web, port: { number: 80 } } }]
    - route: [{ destination: { host: web, port: { number: 80 } } }]
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: { name: edge, namespace: shop }
spec:
  selector: { app: edge }
  servers: [{ port: { number: 80, name: http, protocol: HTTP }, hosts: ["*"] }]
`;

describe("why", () => {
  const dir = mkdtempSync(join(tmpdir(), "fl-why-"));
  const file = join(dir, "mesh.all.yaml");
  beforeAll(() => writeFileSync(file, mesh.trimStart()));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const lineOf = (text: string): number =>
    mesh
      .trimStart()
      .split("\n")
      .findIndex((line) => line.includes(text)) + 1;
  const why = (...args: readonly string[]) => runCli(["why", "-f", file, ...args]);
  const verdict = async (...args: readonly string[]): Promise<string> =>
    (await why(...args)).stdout.split("\n")[0] ?? "";

  test("a policy that refuses is named with its rule, field and line", async () => {
    const { status, stdout } = await why("client.shop", "web/admin/users", "-X", "POST");
    expect(status).toBe(1);
    expect(stdout.split("\n")[0]).toBe(
      `403: DENY rule 1 of AuthorizationPolicy shop/deny-admin, spec.rules[1].to[0].operation.paths[1] (${file}:${lineOf("- /admin*")})`,
    );
    expect(stdout).toContain(
      "not ns[shop]-policy[deny-admin]-rule[0]: caller regex spiffe://.*/sa/nobody does not hold",
    );
  });

  test("policies see the path that a route has rewritten", async () => {
    expect(await verdict("client.shop", "web/hidden")).toMatch(
      /^403: DENY rule 1 of AuthorizationPolicy shop\/deny-admin/,
    );
  });

  test("a route that answers itself is named with its match", async () => {
    expect(await verdict("client.shop", "web/old/x?y=1")).toBe(
      `301 to http://web/new?y=1: old: matches prefix /old, VirtualService shop/web, spec.http[0].match[0] (${file}:${lineOf("prefix: /old")})`,
    );
  });

  test("what is random is told with its odds", async () => {
    const { stdout } = await why("client.shop", "web/split", "-o", "json");
    const { odds, verdict: main, hops } = JSON.parse(stdout);
    expect(main).toMatchObject({ kind: "reached", endpoint: "10.0.0.1:8080" });
    expect(odds).toMatchObject([
      { odds: 0.75, kind: "reached" },
      { odds: 0.25, kind: "answered", status: 418, flags: ["FI"], details: "fault_filter_abort" },
    ]);
    expect(hops).toMatchObject([
      {
        proxy: "client.shop",
        listener: "0.0.0.0_80",
        route: "split",
        cluster: "outbound|80||web.shop.svc.cluster.local",
      },
      { proxy: "web.shop", listener: "virtualInbound", filterChain: "0.0.0.0_8080", cluster: "inbound|8080||" },
    ]);
  });

  test("TCP meets the part of a policy that can be enforced on it", async () => {
    expect(await verdict("client.shop", "web:90")).toMatch(
      /^connection closed: DENY rule 1 of AuthorizationPolicy shop\/deny-admin/,
    );
  });

  test("a gateway takes requests of its clients by the port that they see", async () => {
    expect(await verdict("edge.shop", "http://shop.example.com/x")).toBe(
      "reaches 10.0.0.1:8080 of outbound|80||web.shop.svc.cluster.local",
    );
    expect(await verdict("edge.shop", "http://shop.example.com/admin")).toMatch(/^403/);
    expect(await verdict("edge.shop", "http://shop.example.com:81/")).toMatch(/^connection closed: no listener/);
  });

  test("a Service with a Gateway's labels stands for a gateway", async () => {
    const bookinfo = join(import.meta.dirname, "../../demo/config/bookinfo.yaml");
    const request = ["istio-ingressgateway.istio-system", "http://bookinfo.example:8080/productpage"];
    const { stdout } = await runCli(["why", "-f", bookinfo, ...request]);
    expect(stdout).toMatch(/^reaches \S+:9080 of outbound\|9080\|\|productpage/);
  });

  test("callers without a proxy come to the server as they are", async () => {
    expect(await verdict("outside", "web.shop/x")).toBe("reaches 10.0.0.1:8080");
    expect(await verdict("outside", "web.shop/admin")).toMatch(/^403/);
  });

  test("a line of an access log is followed again, and its flags are told", async () => {
    const denied =
      '[2026-11-15T20:00:00.000Z] "GET /admin HTTP/1.1" 403 - rbac_access_denied_matched_policy[x] - "-" 0 19 1 - "-" "curl" "id" "web" "10.0.0.1:8080" inbound|8080|| - 10.0.0.1:8080 10.0.0.9:43210 outbound_.80_._.web.shop.svc.cluster.local default';
    expect(await verdict("--log", denied)).toMatch(/^403: DENY rule 1 of AuthorizationPolicy shop\/deny-admin/);
    const failed = denied.replace("403 - rbac_access_denied_matched_policy[x]", "503 UF,URX upstream_reset");
    expect((await why("--log", failed)).stdout).toContain(
      "the log says 503 UF,URX upstream_reset; UF: the connection to the endpoint failed",
    );
    expect(await why("--log", "hello")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("no line of an access log"),
    });
    expect(await why("--log", denied.replace("10.0.0.1:8080 10.0.0.9", "10.9.9.9:8080 10.9.9.8"))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("no Pod with a proxy is at 10.9.9.9"),
    });
    expect(await why()).toMatchObject({ status: 2, stderr: expect.stringContaining("name who calls and whom") });
  });

  test.each([
    [["clinet.shop", "web"], 1, "no proxy is called clinet.shop", "client.shop"],
    [["client.shop", "web:99"], 1, "no port 99", "it has 80, 90"],
    [["client.shop", "web:http"], 2, "http is not a port", ""],
    [["client.shop", "ftp://web"], 2, "ftp:// is not known", "there is http"],
    [["client.shop", "/x"], 2, "names no destination", ""],
    [["client.shop", "web", "-H", "nothing"], 2, "is no header", ""],
    [["client.shop", "web", "--jwt", "/nowhere"], 1, "cannot read /nowhere", ""],
  ] as const)("%j is told in a line", async (args, status, cause, hint) => {
    const outcome = await why(...args);
    expect(outcome).toMatchObject({ status, stdout: "" });
    expect(outcome.stderr).toContain(cause);
    expect(outcome.stderr).toContain(hint);
    expect(outcome.stderr).not.toContain("    at ");
  });

  test("junk instead of objects is told in a line", async () => {
    const junk = join(dir, "junk.yaml");
    for (const text of ["\u0000\u0001\u0002", `${"[".repeat(1000)}`, "a: &a [*a]", "just text"]) {
      writeFileSync(junk, text);
      const { status, stderr } = await runCli(["why", "-f", junk, "a", "b"]);
      expect(status, text.slice(0, 10)).toBe(1);
      expect(stderr.split("\n").length, text.slice(0, 10)).toBeLessThan(5);
    }
  });
});
