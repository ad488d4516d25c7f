/** Dumps in, through the command's front door: what istioctl's recorded cases do not have. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type Outcome, runCli } from "../testing.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-pc-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const type = (name: string): string => `type.googleapis.com/${name}`;
const admin = (name: string): string => type(`envoy.admin.v3.${name}`);

function show(kind: string, dump: unknown, ...args: string[]): Promise<Outcome> {
  writeFileSync(join(dir, "dump.json"), typeof dump === "string" ? dump : JSON.stringify(dump));
  return runCli(["pc", kind, "-f", "dump.json", ...args], dir);
}

const clusters = (...all: object[]): object => ({
  configs: [
    {
      "@type": admin("ClustersConfigDump"),
      dynamic_active_clusters: all.map((cluster) => ({
        cluster: { "@type": type("envoy.config.cluster.v3.Cluster"), ...cluster },
      })),
    },
  ],
});

const routes = (...all: object[]): object => ({
  configs: [
    {
      "@type": admin("RoutesConfigDump"),
      dynamic_route_configs: all.map((config) => ({
        route_config: { "@type": type("envoy.config.route.v3.RouteConfiguration"), ...config },
      })),
    },
  ],
});

const listeners = (...all: object[]): object => ({
  configs: [
    {
      "@type": admin("ListenersConfigDump"),
      dynamic_listeners: all.map((listener) => ({
        active_state: { listener: { "@type": type("envoy.config.listener.v3.Listener"), ...listener } },
      })),
    },
  ],
});

const firstColumn = ({ stdout }: Outcome): readonly string[] =>
  stdout
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(/ {2,}/)[0] ?? "");

describe("clusters", () => {
  test("filters look for parts of the name, and all must be there", async () => {
    const dump = clusters(
      { name: "outbound|80|v1|web.shop.svc.cluster.local", type: "EDS" },
      { name: "outbound|8080|v1|web.shop.svc.cluster.local", type: "EDS" },
      { name: "inbound|80||", type: "ORIGINAL_DST" },
    );
    expect(firstColumn(await show("c", dump, "--port", "80"))).toEqual(["", "web.shop.svc.cluster.local"]);
    expect((await show("c", dump, "--port", "80", "--direction", "inbound")).stdout).toContain("ORIGINAL_DST");
    expect(firstColumn(await show("clusters", dump, "--subset", "v1", "--fqdn", "web.shop"))).toHaveLength(2);
  });

  test("a type that this program does not know is printed as it came", async () => {
    const dump = clusters({
      name: "odd",
      typed_extension_protocol_options: { x: { "@type": type("example.v9.Odd"), some_field: { other_one: [1, "2"] } } },
    });
    const { stdout, status } = await show("cluster", dump, "-o", "json");
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual([
      {
        name: "odd",
        typedExtensionProtocolOptions: { x: { "@type": type("example.v9.Odd"), someField: { otherOne: [1, "2"] } } },
      },
    ]);
  });

  test("a dump without clusters says so", async () => {
    expect(await show("cluster", clusters())).toEqual({ status: 1, stdout: "", stderr: "Error: no clusters found\n" });
  });
});

describe("routes", () => {
  test("virtual hosts that were sent one by one have the names that they would have otherwise", async () => {
    const host = { name: "80/web.default.svc.cluster.local:80", domains: ["web"] };
    const { stdout } = await show("route", routes({ name: "80", virtual_hosts: [host] }));
    expect(stdout).toContain(" web.default.svc.cluster.local:80 ");
    expect(stdout).not.toContain("80/web");
  });

  test("names that are numbers are ordered among themselves, others stay where they are", async () => {
    const host = [{ name: "any", domains: ["*"] }];
    const dump = routes(...["9090", "80", "inbound", "15010"].map((name) => ({ name, virtual_hosts: host })));
    expect(firstColumn(await show("r", dump))).toEqual(["80", "9090", "inbound", "15010"]);
    expect((await show("r", dump, "--verbose=false")).stdout.split("\n")[0]).toBe("NAME        VIRTUAL HOSTS");
  });

  test.each([
    [["a.example.com"], "a.example.com"],
    [["web", "web.shop", "web.shop.svc", "web.shop.svc.cluster.local", "web:80"], "web, web.shop"],
    [["a.com", "b.com", "c.com", "d.com:80"], "a.com, b.com + 1 more..."],
    [["[fd00:10::1]", "[fd00:10::1]:80"], "[fd00:10::1]"],
    [["a:80", "b:80"], ""],
  ])("domains %j are told as %j", async (domains, told) => {
    const { stdout } = await show("route", routes({ name: "80", virtual_hosts: [{ name: "vh", domains }] }));
    const row = stdout.split("\n")[1] ?? "";
    expect(row.slice("80       vh             ".length).replace(/ +\/\* +404$/, "")).toBe(told);
  });

  test("what everything passes through is not told", async () => {
    const passthrough = { match: { prefix: "/" }, route: { cluster: "PassthroughCluster" } };
    const host = { name: "allow_any", domains: ["*"], routes: [passthrough] };
    expect(firstColumn(await show("route", routes({ name: "80", virtual_hosts: [host] })))).toEqual([]);
  });
});

describe("listeners", () => {
  const chain = (match: object, cluster: string): object => ({
    filter_chain_match: match,
    filters: [
      {
        name: "envoy.filters.network.tcp_proxy",
        typed_config: {
          "@type": type("envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"),
          stat_prefix: cluster,
          cluster,
        },
      },
    ],
  });
  const at = (address: string, port: number): object => ({
    address: { socket_address: { address, port_value: port } },
  });

  test.each([
    [{ server_names: ["a.com", "b.com"], transport_protocol: "tls" }, "SNI: a.com,b.com; Trans: tls"],
    [{ application_protocols: ["http/1.0", "http/1.1", "h2c"] }, "App: HTTP"],
    [{ application_protocols: ["istio-peer-exchange", "istio"], destination_port: 80 }, "App: TCP TLS; Addr: *:80"],
    [{ prefix_ranges: [{ address_prefix: "10.0.0.0", prefix_len: 8 }], destination_port: 1 }, "Addr: 10.0.0.0/8:1"],
    [{}, "ALL"],
  ])("match %j is told as %j", async (match, told) => {
    const dump = listeners({ name: "l", ...at("0.0.0.0", 80), filter_chains: [chain(match, "outbound|80||x")] });
    const [, line = ""] = (await show("l", dump)).stdout.split("\n");
    expect(line.replace(/^0\.0\.0\.0 +80 +/, "")).toBe(`${told.padEnd(5)} Cluster: outbound|80||x`);
  });

  test("the black hole is no TCP listener; more addresses are told and found", async () => {
    const dump = listeners(
      { name: "b", ...at("0.0.0.0", 15001), filter_chains: [chain({}, "BlackHoleCluster")] },
      { name: "a", ...at("10.0.0.1", 80), additional_addresses: [at("fd00::1", 80)], filter_chains: [chain({}, "x")] },
    );
    expect((await show("listener", dump, "--verbose=false")).stdout).toBe(
      "ADDRESSES        PORT  TYPE\n10.0.0.1,fd00::1 80    TCP\n0.0.0.0          15001 UNKNOWN\n",
    );
    expect((await show("listener", dump, "--address", "FD00::1", "-o", "json")).stdout).toContain('"name": "a"');
    expect((await show("listener", dump, "--type", "tcp", "-o", "json")).stdout).not.toContain('"name": "b"');
  });
});

describe("keys", () => {
  const secret = (certificate: object): object => ({
    configs: [
      {
        "@type": admin("SecretsConfigDump"),
        dynamic_active_secrets: [
          {
            name: "default",
            secret: {
              "@type": type("envoy.extensions.transport_sockets.tls.v3.Secret"),
              name: "default",
              tls_certificate: certificate,
            },
          },
        ],
      },
    ],
  });
  const key = Buffer.from("-----BEGIN PRIVATE KEY-----").toString("base64");

  test.each([
    ["secret", { private_key: { inline_bytes: key } }],
    ["secret", { privateKey: { inlineString: "-----BEGIN PRIVATE KEY-----" } }],
    ["all", { private_key: { inline_bytes: key } }],
    ["all", { password: { inline_string: "-----BEGIN" }, private_key: { inline_bytes: key } }],
  ])("%s never prints one, whatever the dump has: %j", async (kind, certificate) => {
    for (const format of ["json", "yaml"]) {
      const { stdout, status } = await show(kind, secret(certificate), "-o", format);
      expect(status).toBe(0);
      expect(stdout).not.toContain("BEGIN");
      expect(stdout).not.toContain(key);
      expect(stdout).toMatch(/\[redacted\]|W3JlZGFjdGVkXQ==/);
    }
  });

  test("a dump that cannot be read is not printed when it may hold one", async () => {
    const text = JSON.stringify(secret({ private_key: { inline_bytes: key } })).slice(0, -2);
    const { stdout, status } = await show("all", text, "-o", "json");
    expect([status, stdout]).toEqual([1, ""]);
  });

  test("a certificate that cannot be read is told as not valid", async () => {
    const { stdout } = await show("secret", secret({ certificate_chain: { inline_bytes: "AAAA" } }));
    expect(stdout.split("\n")[1]?.split(/ +/)).toEqual(["default", "ACTIVE", "false", ""]);
  });
});

describe("mistakes", () => {
  test.each([
    ["", "proto:\u00a0unexpected EOF"],
    ['{"configs": "', "proto:\u00a0unexpected EOF"],
    ['{"configs": [\n  }', "proto:\u00a0syntax error (line 2:3): unexpected token }"],
    ['{"configs": [] "x"', 'proto:\u00a0syntax error (line 1:16): unexpected token "x"'],
    ['{"configs": nope}', "proto:\u00a0syntax error (line 1:13): invalid value nope"],
  ])("%j is refused: %s", async (text, why) => {
    const { status, stderr } = await show("cluster", text);
    expect(status).toBe(1);
    expect(stderr).toBe(`Error: error unmarshalling config dump response from Envoy: ${why}\n`);
  });

  test.each([
    ["[1", "unexpected end of JSON input"],
    ["{]", "invalid character ']' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a": 1 "b"}', "invalid character '\"' after object key:value pair"],
    ["[1 2]", "invalid character '2' after array element"],
    ["{} x", "invalid character 'x' after top-level value"],
    ["{]}", "invalid character ']' looking for beginning of object key string"],
  ])("endpoints are read by another parser: %j is refused: %s", async (text, why) => {
    const { stderr } = await show("endpoint", text);
    expect(stderr).toBe(`Error: error unmarshalling config dump response from Envoy: ${why}\n`);
  });

  test("neither a Pod nor a file, or both, is wrong usage", async () => {
    for (const args of [
      ["pc", "route"],
      ["pc", "route", "web", "-f", "dump.json"],
    ]) {
      const { status, stderr } = await runCli(args, dir);
      expect([status, stderr]).toEqual([2, "Error: route requires pod name or --file parameter\n"]);
    }
  });

  test("what stands before a missing section is shown", async () => {
    const bootstrap = {
      "@type": admin("BootstrapConfigDump"),
      bootstrap: { node: { metadata: { ISTIO_VERSION: "1" } } },
    };
    const { status, stdout, stderr } = await show("all", { configs: [bootstrap] });
    expect(status).toBe(1);
    expect(stdout).toBe("Istio Version: 1\nEnvoy Version: 0.0.0\n\n");
    expect(stderr).toContain("ClustersConfigDump");
  });

  test("the format may stand before the kind", async () => {
    writeFileSync(join(dir, "dump.json"), JSON.stringify(clusters({ name: "x" })));
    const { stdout } = await runCli(["pc", "-o", "json", "cluster", "-f", "dump.json"], dir);
    expect(JSON.parse(stdout)).toEqual([{ name: "x" }]);
  });
});
