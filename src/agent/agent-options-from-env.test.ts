import { describe, expect, test } from "vitest";
import { silentLogger } from "../lib/index.ts";
import type { AgentMachine } from "./agent-machine.ts";
import { agentOptionsFromEnv } from "./agent-options-from-env.ts";
import { envoyArguments } from "./envoy/process.ts";

const machine = (files: Readonly<Record<string, string>> = {}): AgentMachine => ({
  workDir: "/",
  hostname: "host",
  addresses: ["10.0.0.7", "fd00::7"],
  readFile: (path) => files[path],
  secretName: "s",
  now: () => new Date(),
  random: () => 0.5,
  log: silentLogger,
});
const env = { POD_NAME: "p", POD_NAMESPACE: "ns", SERVICE_ACCOUNT: "sa", INSTANCE_IP: "10.0.0.9" };

describe("the agent's options", () => {
  test("without settings are pilot-agent's", () => {
    const options = agentOptionsFromEnv(env, ["sidecar"], machine());
    expect(options.bootstrap.node.id).toBe("sidecar~10.0.0.9~p.ns~ns.svc.cluster.local");
    expect(options.bootstrap.node.metadata).toMatchObject({
      INSTANCE_IPS: "10.0.0.9,10.0.0.7,fd00::7",
      PILOT_SAN: ["istiod.istio-system.svc"],
    });
    expect(options).toMatchObject({
      discovery: {
        target: { host: "istiod.istio-system.svc", port: 15012 },
        plaintext: false,
        rootFile: "./var/run/secrets/istio/root-cert.pem",
      },
      ca: { target: { host: "istiod.istio-system.svc", port: 15012 } },
      tokenFile: "./var/run/secrets/tokens/istio-token",
      foreignSdsSocket: "./var/run/secrets/workload-spiffe-uds/socket",
      socketsFolder: "./etc/istio/proxy/sockets",
      identityUri: "spiffe://cluster.local/ns/ns/sa/sa",
      certificateTtlMs: 86_400_000,
      terminationDrainMs: 5000,
      onEnvoyExit: "exit",
    });
  });

  test("how Wasm modules are had", () => {
    const usual = agentOptionsFromEnv(env, ["sidecar"], machine()).wasm;
    expect(usual).toEqual({
      folder: "./var/lib/istio/data/wasm",
      insecureRegistries: [],
      expiryMs: 86_400_000,
      purgeMs: 3_600_000,
      requestTimeoutMs: 15_000,
      maxRetries: 5,
      maxBytes: 268_435_456,
      blockedRanges: [],
    });
    const vars = {
      ...env,
      WASM_INSECURE_REGISTRIES: "localhost:5000, r.example",
      WASM_MODULE_EXPIRY: "1h",
      WASM_PURGE_INTERVAL: "1m",
      WASM_HTTP_REQUEST_TIMEOUT: "3s",
      WASM_HTTP_REQUEST_MAX_RETRIES: "2",
      ISTIO_WASM_MAX_BINARY_SIZE_BYTES: "1000",
      BLOCKED_CIDRS_IN_WASM_FETCH: "10.0.0.0/8",
    };
    expect(agentOptionsFromEnv(vars, ["sidecar"], machine()).wasm).toMatchObject({
      insecureRegistries: ["localhost:5000", "r.example"],
      expiryMs: 3_600_000,
      purgeMs: 60_000,
      requestTimeoutMs: 3000,
      maxRetries: 2,
      maxBytes: 1000,
      blockedRanges: ["10.0.0.0/8"],
    });
    const off = { ...env, ISTIO_AGENT_ENABLE_WASM_REMOTE_LOAD_CONVERSION: "false" };
    expect(agentOptionsFromEnv(off, ["sidecar"], machine()).wasm).toBeUndefined();
  });

  test("arguments, files and variables are heard; unknown flags are tolerated", () => {
    const files = {
      "./etc/istio/pod/labels": 'app="x"',
      "./etc/istio/pod/annotations": 'proxy.istio.io/config="concurrency: 3"',
    };
    const argv = [
      "router",
      "--domain",
      "d.svc.other",
      "--proxyLogLevel=info,upstream:debug",
      "--someNewFlag",
      "x",
      "--log_as_json",
    ];
    const vars = {
      ...env,
      CA_ADDR: "ca:1",
      PROXY_CONFIG: "discoveryAddress: '[::1]:15012'\nterminationDrainDuration: 90s",
      EXIT_ON_ZERO_ACTIVE_CONNECTIONS: "true",
      XDS_HEADER_X_Y: "z",
    };
    const options = agentOptionsFromEnv(vars, argv, machine(files));
    expect(options).toMatchObject({
      type: "router",
      discovery: { target: { host: "::1", port: 15012 } },
      ca: { target: { host: "ca", port: 1 } },
      terminationDrainMs: 90_000,
      exitWhenIdle: { minimumMs: 5000 },
      xdsHeaders: { x_y: "z" },
    });
    expect(options.bootstrap.logAsJson).toBe(true);
    expect(options.bootstrap.node.id).toMatch(/^router~.*~d\.svc\.other$/);
    const args = envoyArguments({
      sockets: "",
      ...options,
      binary: "envoy",
      configFile: "f",
      logLevel: options.proxyLogLevel,
      componentLogLevel: "",
    });
    expect(args.join(" ")).toBe(
      "-c f --drain-time-s 45 --drain-strategy immediate --local-address-ip-version v4 --file-flush-interval-msec 1000 --disable-hot-restart --allow-unknown-static-fields -l info --component-log-level upstream:debug --skip-deprecated-logs --concurrency 3",
    );
  });

  test.each([
    [{ PROXY_CONFIG: "discoveryAddress: nowhere" }, [], "discoveryAddress"],
    [{ CA_ADDR: "a:b:c" }, [], "CA_ADDR"],
    [{ SECRET_TTL: "soon" }, [], "SECRET_TTL"],
    [{ ENVOY_STATUS_PORT: "x" }, [], "ENVOY_STATUS_PORT"],
    [{ ISTIO_DUAL_STACK: "maybe" }, [], "ISTIO_DUAL_STACK"],
    [{ ISTIO_KUBE_APP_PROBERS: "[]" }, [], "ISTIO_KUBE_APP_PROBERS"],
    [{}, ["waypoint"], "waypoint"],
  ] as const)("%j %j is refused by name", (vars, argv, name) => {
    expect(() => agentOptionsFromEnv({ ...env, ...vars }, argv, machine())).toThrow(name);
  });
});
