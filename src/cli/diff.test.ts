/** Through the front door: objects and a change to them in; what would be different for proxies, in words, out. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readRecord } from "../lib/index.ts";
import { runCli } from "./testing.ts";

const pod = (name: string, labels: string, ip: string): string => `apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: shop, labels: { ${labels}, security.istio.io/tlsMode: istio } }
spec: { serviceAccountName: default, containers: [{ name: app }, { name: istio-proxy, args: [proxy, sidecar] }] }
status: { phase: Running, podIP: ${ip}, podIPs: [{ ip: ${ip} }] }
---
`;

const routes = (v1: number, v2: number, more = ""): string => `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: reviews, namespace: shop }
spec:
  hosts: [reviews]
  http:
    - route:
        - { destination: { host: reviews, subset: v1 }, weight: ${v1} }
        - { destination: { host: reviews, subset: v2 }, weight: ${v2} }
${more}---
`;

const subsets = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: reviews, namespace: shop }
spec:
  host: reviews
  subsets: [{ name: v1, labels: { version: v1 } }, { name: v2, labels: { version: v2 } }]
---
`;

const reviews = `apiVersion: v1
kind: Service
metadata: { name: reviews, namespace: shop }
spec: { clusterIP: 10.96.0.7, selector: { app: reviews }, ports: [{ name: http, port: 9080 }] }
---
`;

const mesh =
  pod("client-1", "app: client", "10.0.0.9") +
  pod("client-2", "app: client", "10.0.0.10") +
  pod("reviews-1", "app: reviews, version: v1", "10.0.0.1") +
  pod("reviews-2", "app: reviews, version: v2", "10.0.0.2") +
  reviews +
  subsets +
  routes(90, 10);

const policy = (spec: string, name = "web"): string => `apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: ${name}, namespace: shop }
spec: ${spec}
---
`;

describe("diff", () => {
  const dir = mkdtempSync(join(tmpdir(), "fl-diff-"));
  const base = join(dir, "base.yaml");
  beforeAll(() => writeFileSync(base, mesh));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  let files = 0;
  const write = (text: string): string => {
    const file = join(dir, `change-${++files}.yaml`);
    writeFileSync(file, text);
    return file;
  };
  const diff = (...args: readonly string[]) => runCli(["diff", "--base", base, ...args], dir);
  const linesOf = (stdout: string): readonly string[] => stdout.split("\n").slice(0, stdout.split("\n").indexOf(""));

  test("weights that move are told as a share of requests, with the number of proxies", async () => {
    const { status, stdout, stderr } = await diff("-f", write(routes(80, 20)));
    expect([status, stderr]).toEqual([1, ""]);
    expect(linesOf(stdout)).toEqual(["  reviews: 10 % of requests move from v1 to v2 for all 4 proxies"]);
    expect(stdout).toContain("classes of proxies\n");
    expect(stdout).toContain("1 route changed");
  });

  test("the same again changes nothing", async () => {
    const { status, stdout } = await diff("-f", write(routes(90, 10)));
    expect(status).toBe(0);
    expect(stdout).toContain("nothing changes for 4 proxies");
    expect(stdout).toContain("VirtualService shop/reviews: is so already");
  });

  test("one proxy alone, with Envoy's own fields", async () => {
    const { status, stdout } = await diff("-f", write(routes(100, 0)), "--proxy", "client-1.shop", "--resources");
    expect(status).toBe(1);
    expect(stdout.split("\n")[0]).toBe(
      "  reviews: 10 % of requests move from v1 to v2 for client-1.shop".replace("v1 to v2", "v2 to v1"),
    );
    expect(stdout).toMatch(
      /route 9080 \(1 proxy\)\n {4}- virtualHosts\[reviews\.shop\.svc\.cluster\.local:9080\]\.routes/,
    );
  });

  test("a policy that refuses is a risk, and only where CI asks for it a failure", async () => {
    const file = write(
      policy(
        "{ selector: { matchLabels: { app: reviews } }, action: DENY, rules: [{ to: [{ operation: { paths: [/admin] } }] }] }",
      ),
    );
    const all = await diff("-f", file);
    expect(all.status).toBe(1);
    expect(linesOf(all.stdout)).toContain(
      "! on the way in: DENY rule 0 of AuthorizationPolicy shop/web is new for reviews-1.shop, reviews-2.shop [deny]",
    );
    expect((await diff("-f", file, "--fail-on", "deny")).status).toBe(1);
    const other = await diff("-f", file, "--fail-on", "lost-endpoint,mtls");
    expect(other.status).toBe(0);
    expect(other.stdout).toContain("AuthorizationPolicy shop/web");
  });

  test("the first ALLOW rule refuses all else", async () => {
    const { stdout } = await diff("-f", write(policy("{ rules: [{ to: [{ operation: { methods: [GET] } }] }] }")));
    expect(stdout).toContain(
      "! on the way in: refusal of whatever no ALLOW rule matches is new for all 4 proxies [deny]",
    );
  });

  test("encryption that changes, in and out", async () => {
    const strict = `apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: { name: default, namespace: shop }
spec: { mtls: { mode: STRICT } }
`;
    const peer = await diff("-f", write(strict), "--fail-on=mtls");
    expect(peer.status).toBe(1);
    expect(peer.stdout).toContain("! on the way in: mutual TLS PERMISSIVE becomes STRICT");
    const rule = write(subsets.replace("  subsets:", "  trafficPolicy: { tls: { mode: DISABLE } }\n  subsets:"));
    const { stdout } = await diff("-f", rule, "--fail-on=mtls");
    expect(stdout).toMatch(
      /! reviews: port 9080: mutual TLS where the server has it becomes plain text for all 4 proxies \[mtls\]/,
    );
    expect(stdout).toContain("fails because of mtls");
  });

  test("servers that are lost: Pods, whole Services, subsets that routes still lead to", async () => {
    const without = await diff("--delete", "pod/reviews-2", "-n", "shop", "--fail-on=lost-endpoint");
    expect(without.status).toBe(1);
    expect(without.stdout).toContain("! reviews: v2, port 9080: no endpoint is left of 1");
    expect(without.stdout).toContain("reviews-2.shop is gone");
    const service = await diff("--delete", "svc/reviews", "-n", "shop");
    expect(service.stdout).toContain("! reviews: all versions cannot be reached any more");
    const rule = write(subsets.replace(", { name: v2, labels: { version: v2 } }", ""));
    expect((await diff("-f", rule)).stdout).toContain(
      "! reviews: v2 does not exist any more, and routes lead to it for all 4 proxies [lost-endpoint]",
    );
  });

  test("a route to nowhere is told", async () => {
    const file = write(routes(50, 50).replace("subset: v2", "subset: v3"));
    const { stdout } = await diff("-f", file);
    expect(stdout).toContain("! reviews: v3 does not exist, and routes lead to it");
    expect(stdout).toContain("40 % of requests move from v1 to v3");
  });

  test("other settings of a route by their names and values", async () => {
    const file = write(routes(90, 10, "      timeout: 3s\n"));
    expect((await diff("-f", file)).stdout).toMatch(/reviews: timeout from 0s to 3s for all 4 proxies/);
  });

  test("a branch against another: what is missing would be deleted", async () => {
    const branch = join(dir, "branch");
    mkdirSync(branch, { recursive: true });
    writeFileSync(join(branch, "all.yaml"), mesh.replace(routes(90, 10), ""));
    expect((await diff("-f", branch)).status).toBe(0);
    const { status, stdout } = await diff("-f", branch, "--prune");
    expect(status).toBe(1);
    expect(stdout).toMatch(/reviews: 90 % of requests move from v1 to all versions/);
  });

  test("what would be refused is told and not counted; what has no say too", async () => {
    const file = write(
      routes(90, 20).replace("weight: 20", "weight: -20") +
        policy("{ selector: { matchLabels: { app: nobody } }, action: DENY, rules: [{}] }", "nobody") +
        "apiVersion: v1\nkind: Secret\nmetadata: { name: s, namespace: shop }\n",
    );
    const { status, stdout } = await diff("-f", file, "-o", "json");
    expect(status).toBe(2);
    const report = JSON.parse(stdout) as {
      readonly changed: boolean;
      readonly refused: readonly { readonly object: string }[];
      readonly ignored: readonly { readonly object: string; readonly message: string }[];
    };
    expect(report.changed).toBe(false);
    expect(report.refused.map(({ object }) => object)).toContain("VirtualService/shop/reviews");
    expect(report.ignored).toEqual([
      { object: "Secret/shop/s", message: "is a Secret, which no proxy is configured from" },
      { object: "AuthorizationPolicy/shop/nobody", message: "no proxy would be sent anything else because of it" },
    ]);
  });

  test("of several objects, those that change nothing by themselves", async () => {
    const file = write(
      routes(80, 20) + policy("{ selector: { matchLabels: { app: nobody } }, action: DENY, rules: [{}] }", "nobody"),
    );
    const { stdout } = await diff("-f", file);
    expect(linesOf(stdout)).toEqual(["  reviews: 10 % of requests move from v1 to v2 for all 4 proxies"]);
    expect(stdout).toContain("would change nothing\n  AuthorizationPolicy shop/nobody: no proxy");
  });

  test("a patch that Envoy could not read would be refused", async () => {
    const file = write(`apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: { name: odd, namespace: shop }
spec:
  configPatches:
    - applyTo: CLUSTER
      match: { cluster: { service: reviews.shop.svc.cluster.local } }
      patch: { operation: MERGE, value: { connect_timeout: never } }
`);
    const { stdout } = await diff("-f", file);
    expect(stdout).toMatch(/would be refused\n {2}EnvoyFilter shop\/odd, spec.configPatches\[0\]/);
    expect(stdout).toContain("nothing changes for 4 proxies");
  });

  describe("virtual hosts that patches add under one name", () => {
    const added = (domain: string, cluster: string): string => `
  - applyTo: VIRTUAL_HOST
    match: { context: SIDECAR_OUTBOUND, routeConfiguration: { name: "9080" } }
    patch:
      operation: ADD
      value:
        name: "reviews.shop.svc.cluster.local:9080"
        domains: [${domain}]
        routes: [{ match: { prefix: / }, route: { cluster: ${cluster} } }]`;
    const filter = (...patches: readonly string[]): string => `---
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: { name: hosts, namespace: shop }
spec:
  configPatches:${patches.join("")}
`;

    test("are hosts by themselves, and leave the others as they were", async () => {
      const { stdout } = await diff("-f", write(filter(added("extra.example.com", "BlackHoleCluster"))));
      expect(linesOf(stdout)).toEqual(["  reviews: has routes for extra.example.com now for all 4 proxies"]);
    });

    test("are compared each with its own", async () => {
      const [one, other] = [added("one.example.com", "BlackHoleCluster"), added("two.example.com", "InboundCluster")];
      const from = write(mesh + filter(one, other));
      const moved = added("one.example.com", "PassthroughCluster");
      const { stdout } = await runCli(["diff", "--base", from, "-f", write(filter(moved, other))], dir);
      expect(linesOf(stdout)).toEqual([
        "  reviews: all requests move from BlackHoleCluster to PassthroughCluster for all 4 proxies",
      ]);
      const { stdout: without } = await runCli(["diff", "--base", from, "-f", write(filter(other))], dir);
      expect(linesOf(without)).toEqual([
        "! reviews: has no routes for one.example.com any more for all 4 proxies [deny]",
      ]);
    });

    test("are told to programs by their name, and no other host with them", async () => {
      const [one, other] = [added("one.example.com", "BlackHoleCluster"), added("two.example.com", "InboundCluster")];
      const routesOf = async (before: string, ...after: readonly string[]): Promise<unknown> => {
        const args = ["--base", write(mesh + before), "-f", write(filter(...after)), "-o", "json"];
        return readRecord(JSON.parse((await runCli(["diff", ...args], dir)).stdout)).classes;
      };
      const resources = [
        expect.objectContaining({ name: "9080", hosts: ["9080/reviews.shop.svc.cluster.local:9080"] }),
      ];
      expect(await routesOf("", one, other)).toEqual([expect.objectContaining({ resources })]);
      expect(await routesOf(filter(one), one, other)).toEqual([expect.objectContaining({ resources })]);
    });
  });

  test("workloads in files without Pods: a Pod that stands for each", async () => {
    const deployment = (name: string): string => `apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name}, namespace: shop }
spec: { selector: {}, template: { metadata: { labels: { app: reviews, version: ${name} } }, spec: { containers: [] } } }
---
`;
    const file = write(reviews + deployment("v1"));
    const { status, stdout } = await runCli(["diff", "--base", file, "-f", write(deployment("v2"))], dir);
    expect(status).toBe(1);
    expect(stdout).toContain("reviews: port 9080: 1 more endpoint (2 in all) for v1.shop");
    expect(stdout).toContain("v2.shop is new");
  });

  test("other filters", async () => {
    const { status, stdout } = await diff("--against-profile", "envoy");
    expect(stdout).toContain("filter istio.alpn is gone");
    expect(status).toBe(1);
  });

  describe("another version", () => {
    const filter = `---
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: { name: old, namespace: shop }
spec:
  configPatches:
  - applyTo: CLUSTER
    match: { context: SIDECAR_OUTBOUND, proxy: { proxyVersion: "^1\\\\.30" }, cluster: { service: reviews.shop.svc.cluster.local } }
    patch: { operation: MERGE, value: { alt_stat_name: patched } }
`;
    const upgrade = async (version: string, image: string) =>
      runCli(
        [
          "diff",
          "--base",
          write(mesh.replaceAll("istio-proxy,", `istio-proxy, image: "${image}",`) + filter),
          "--against-version",
          version,
        ],
        dir,
      );

    test("the one that proxies have is that of their images", async () => {
      const { status, stdout } = await upgrade("1.31.0", "docker.io/istio/proxyv2:1.30.2-distroless");
      expect(stdout).toContain("altStatName from patched to outbound|9080||reviews");
      expect(status).toBe(1);
      expect((await upgrade("1.30.5", "docker.io/istio/proxyv2:1.30.2")).stdout).toContain("nothing changes");
    });

    test("an image without such a tag is of the version of recorded cases", async () => {
      const { status, stdout } = await upgrade("1.30.0", "istio/proxyv2");
      expect(stdout).toContain("altStatName");
      expect(status).toBe(1);
    });
  });

  test.each([
    [["-f", "none.yaml"], "cannot read"],
    [[], "name the change with -f FILE"],
    [["-f", "BASE", "--proxy", "nobody.shop"], "no proxy is called nobody.shop\n  there is client-1.shop"],
    [["--delete", "vs/none", "-n", "shop"], "there is no VirtualService shop/none"],
    [["--delete", "nothing/x"], 'there is no type "nothing"'],
    [["--delete", "what"], "is neither a file nor TYPE/NAME"],
    [["-f", "BASE", "--fail-on", "everything"], '--fail-on does not know "everything"'],
    [["--against-version", "new"], "new is no version"],
    [["-f", "JUNK"], "change-junk.yaml"],
  ] as const)("%j is told in a line, with status 2", async (args, text) => {
    const junk = join(dir, "change-junk.yaml");
    writeFileSync(junk, "\u0000\u0001{{{");
    const named = args.map((word) => (word === "BASE" ? base : word === "JUNK" ? junk : word));
    const { status, stdout, stderr } = await diff(...named);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(text);
    expect(stderr.split("\n").length).toBeLessThanOrEqual(4);
    expect(stderr).not.toContain("    at ");
  });
});
