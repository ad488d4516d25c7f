/** Which chains a sidecar's inbound listener has, by mTLS mode, protocol and Sidecar, objects in to JSON out. */
import { describe, expect, test } from "vitest";
import { type KubeObject, types } from "../../src/model/index.ts";
import { istio, pod, service, slice } from "./objects.ts";
import { type Json, type RenderInput, renderProxy } from "./offline.ts";

const workload = (portName: string): readonly KubeObject[] => [
  pod("web", { proxy: "sidecar", address: "10.0.0.1" }),
  service("web", { portName }),
  slice("web", [{ address: "10.0.0.1", pod: "web" }], 8080, portName),
];

const inbound = async (objects: readonly KubeObject[], rest: Partial<RenderInput> = {}): Promise<Json> =>
  (await renderProxy({ ...rest, objects })).listeners.get("virtualInbound");

const peers = (spec: Readonly<Record<string, unknown>>): KubeObject => istio("PeerAuthentication", "default", spec);

/** `transport kind`, with `+` where mTLS ends here. */
const shape = (chain: Json): string => {
  const kind = chain.filters.at(-1).name.endsWith("http_connection_manager") ? "http" : "tcp";
  return `${chain.filterChainMatch.transportProtocol} ${kind}${chain.transportSocket ? "+" : ""}`;
};
const chainsOf = (listener: Json, port: number | undefined): readonly string[] =>
  listener.filterChains.filter((chain: Json) => chain.filterChainMatch.destinationPort === port).map(shape);

describe("chains of a port", () => {
  test.each<[string, string, readonly string[]]>([
    ["PERMISSIVE", "http", ["tls http+", "raw_buffer http"]],
    ["PERMISSIVE", "tcp", ["tls tcp+", "tls tcp", "raw_buffer tcp"]],
    ["PERMISSIVE", "any", ["tls http+", "raw_buffer http", "tls tcp+", "raw_buffer tcp", "tls tcp"]],
    ["STRICT", "http", ["tls http+"]],
    ["STRICT", "tcp", ["tls tcp+"]],
    ["STRICT", "any", ["tls http+", "tls tcp+"]],
    ["DISABLE", "http", ["raw_buffer http"]],
    ["DISABLE", "tcp", ["raw_buffer tcp"]],
    ["DISABLE", "any", ["raw_buffer http", "raw_buffer tcp"]],
  ])("%s %s", async (mode, portName, expected) => {
    expect(chainsOf(await inbound([...workload(portName), peers({ mtls: { mode } })]), 8080)).toEqual(expected);
  });

  test("plaintext has no way in where mTLS is demanded", async () => {
    const listener = await inbound([...workload("any"), peers({ mtls: { mode: "STRICT" } })]);
    const open = listener.filterChains.filter((chain: Json) => !chain.transportSocket);
    expect(open.map((chain: Json) => chain.name)).toEqual(["virtualInbound-blackhole"]);
  });

  test("a port's own mode wins; a port that nobody declared has catch-all chains of its own", async () => {
    const portLevelMtls = { 8080: { mode: "STRICT" }, 1234: { mode: "DISABLE" } };
    const policy = peers({ selector: { matchLabels: { app: "web" } }, mtls: { mode: "PERMISSIVE" }, portLevelMtls });
    const listener = await inbound([...workload("http"), policy]);
    expect(chainsOf(listener, 8080)).toEqual(["tls http+"]);
    expect(chainsOf(listener, 1234)).toEqual(["raw_buffer http", "raw_buffer tcp"]);
  });

  test("clients are accepted from all trust domains that the mesh knows, and no other", async () => {
    const listener = await inbound(workload("http"), {
      mesh: { trustDomain: "td", trustDomainAliases: ["old", "td"] },
    });
    const { defaultValidationContext } = listener.filterChains.find((chain: Json) => chain.transportSocket)
      .transportSocket.typedConfig.commonTlsContext.combinedValidationContext;
    expect(defaultValidationContext.matchSubjectAltNames).toEqual([
      { prefix: "spiffe://td/" },
      { prefix: "spiffe://old/" },
    ]);
  });
});

describe("inspectors look only where something is to be found", () => {
  const rule = (port: number) => ({ destinationPortRange: { start: port, end: port + 1 } });
  const filters = (listener: Json): Json =>
    Object.fromEntries(
      listener.listenerFilters.map((filter: Json) => [filter.name.split(".").at(-1), filter.filterDisabled]),
    );

  test("HTTP is not sniffed on a declared port, nor anything on the capture port", async () => {
    expect(filters(await inbound(workload("http")))).toEqual({
      original_dst: undefined,
      tls_inspector: rule(15006),
      http_inspector: { orMatch: { rules: [rule(8080), rule(15006)] } },
    });
  });

  test("without mTLS, TLS is looked for nowhere", async () => {
    const listener = await inbound([...workload("any"), peers({ mtls: { mode: "DISABLE" } })]);
    expect(filters(listener)).toEqual({ original_dst: undefined, http_inspector: rule(15006) });
  });

  test("TLS is looked for on the one port with mTLS", async () => {
    const spec = {
      selector: { matchLabels: { app: "web" } },
      mtls: { mode: "DISABLE" },
      portLevelMtls: { 8080: { mode: "STRICT" } },
    };
    expect(filters(await inbound([...workload("http"), peers(spec)])).tls_inspector).toEqual({ notMatch: rule(8080) });
  });
});

describe("Sidecar ingress", () => {
  const sidecar = (ingress: readonly unknown[]): KubeObject =>
    istio("Sidecar", "s", { ingress, egress: [{ hosts: ["./*"] }] });

  test("replaces the service's ports, on the workload's own address", async () => {
    const ingress = [{ port: { number: 9000, protocol: "HTTP", name: "h" }, defaultEndpoint: "127.0.0.1:9000" }];
    const listener = await inbound([...workload("http"), sidecar(ingress)]);
    expect(chainsOf(listener, 8080)).toEqual([]);
    const [chain] = listener.filterChains.filter((one: Json) => one.filterChainMatch.destinationPort === 9000);
    expect(chain.name).toBe("10.0.0.1_9000");
    expect(chain.metadata.filterMetadata.istio.config).toBe(
      "/apis/networking.istio.io/v1/namespaces/default/sidecar/s",
    );
  });

  test("without capture a port has a listener of its own", async () => {
    const ingress = [{ port: { number: 9000, protocol: "TCP", name: "t" }, bind: "0.0.0.0", captureMode: "NONE" }];
    const made = (await renderProxy({ objects: [...workload("http"), sidecar(ingress)] })).listeners;
    expect(made.get("0.0.0.0_9000").filterChains.map(shape)).toEqual(["tls tcp+", "tls tcp", "raw_buffer tcp"]);
    expect(made.get("0.0.0.0_9000").listenerFilters.map((filter: Json) => filter.name)).not.toContain(
      "envoy.filters.listener.original_dst",
    );
  });
});

test("of two services on one port the older one's protocol counts", async () => {
  const other = service("older", { portName: "tcp", selector: "web" });
  const old = { ...other, metadata: { ...other.metadata, creationTimestamp: "2001-01-01T00:00:00Z" } };
  const [proxy, web = proxy, slices] = workload("http") as [KubeObject, KubeObject, KubeObject];
  const young = { ...web, metadata: { ...web.metadata, creationTimestamp: "2002-01-01T00:00:00Z" } };
  expect(chainsOf(await inbound([proxy, young, old, slices]), 8080)).toEqual(["tls tcp+", "tls tcp", "raw_buffer tcp"]);
});

test("a silent client does not hold a listener up: detection ends and the connection goes on", async () => {
  const listener = await inbound(workload("any"), { mesh: { protocolDetectionTimeout: "2s" } });
  expect(listener).toMatchObject({ listenerFiltersTimeout: "2s", continueOnListenerFiltersTimeout: true });
});

test("the policy that set the mode is remembered as the cause", async () => {
  const rendered = await renderProxy({ objects: [...workload("http"), peers({ mtls: { mode: "STRICT" } })] });
  expect(rendered.causes(types.listener, "virtualInbound")).toContain("PeerAuthentication/default/default#spec");
});
