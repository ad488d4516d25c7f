import { expect, test } from "vitest";
import { silentLogger } from "../../lib/index.ts";
import { agentOptionsFromEnv } from "../agent-options-from-env.ts";
import { refreshSeconds } from "./bootstrap.ts";

const machine = {
  workDir: "/",
  hostname: "h",
  addresses: ["10.0.0.1"],
  readFile: () => undefined,
  secretName: "secret",
  now: () => new Date(0),
  random: () => 0,
  log: silentLogger,
};
const placeOf = (env: Readonly<Record<string, string>>) => {
  const { runsEnvoy, grpc } = agentOptionsFromEnv({ POD_NAMESPACE: "shop", ...env }, ["sidecar"], machine);
  return { runsEnvoy, grpc };
};

test("without an Envoy the socket is where Istio has it, and the application's container may use it", () => {
  expect(placeOf({ DISABLE_ENVOY: "true", KUBERNETES_SERVICE_HOST: "10.96.0.1" })).toEqual({
    runsEnvoy: false,
    grpc: {
      bootstrapFile: "./etc/istio/proxy/grpc-bootstrap.json",
      fileMode: 0o644,
      xdsSocket: "./etc/istio/proxy/XDS",
      socketMode: 0o666,
    },
  });
  expect(placeOf({ DISABLE_ENVOY: "true", GRPC_XDS_BOOTSTRAP: "/tmp/b.json" }).grpc).toMatchObject({
    bootstrapFile: "/tmp/b.json",
    fileMode: 0o600,
    socketMode: 0o600,
  });
});

test("beside an Envoy, which could be led to it, the socket stays where nobody can guess", () => {
  expect(placeOf({})).toEqual({ runsEnvoy: true, grpc: undefined });
  expect(placeOf({ GRPC_XDS_BOOTSTRAP: "/tmp/b.json", KUBERNETES_SERVICE_HOST: "x" }).grpc).toMatchObject({
    xdsSocket: "./etc/istio/proxy/sockets/secret/XDS",
    socketMode: 0o600,
  });
});

test("certificates are read again before they end", () => {
  const hourMs = 3_600_000;
  expect(refreshSeconds(24 * hourMs, 0.5)).toBe(900);
  expect(refreshSeconds(hourMs / 60, 0.5)).toBe(15);
  expect(refreshSeconds(1000, 0.5)).toBe(1);
});
