/** A scenario and a port in; the listener that a stock Envoy is sent for a workload on it, standing alone, out. */
import type { KubeObject } from "../../src/model/index.ts";
import { istio, pod, service, slice } from "../render/objects.ts";
import { type Json, renderProxy } from "../render/offline.ts";
import { ownAddress } from "./envoy.ts";
import type { Credentials } from "./identity.ts";
import type { Scenario, Spec } from "./scenario.ts";

export const gateCluster = "outbound|9000||gate.default.svc.cluster.local";
export const grpcGateCluster = "outbound|9001||grpc-gate.default.svc.cluster.local";

const mesh = {
  extensionProviders: [
    {
      name: "gate",
      envoyExtAuthzHttp: {
        service: "gate.default.svc.cluster.local",
        port: 9000,
        timeout: "5s",
        includeRequestHeadersInCheck: ["x-pass"],
      },
    },
    {
      name: "grpc-gate",
      envoyExtAuthzGrpc: { service: "grpc-gate.default.svc.cluster.local", port: 9001, timeout: "5s" },
    },
  ],
};

/** Without secrets, they are asked for over SDS. */
export async function workloadListener(
  scenario: Scenario,
  port: number,
  jwks: readonly [string, string],
  secrets: { readonly own: Credentials; readonly root: string } | undefined,
  protocol: "http" | "tcp" = "http",
): Promise<Json> {
  const portName = scenario.port === "sniffed" ? "any" : protocol;
  const objects = [
    pod("app", { proxy: "sidecar" }),
    service("app", { portName, targetPort: port }),
    slice("app", [{ address: "10.0.0.1", pod: "app" }], port, portName),
    service("gate", { portName: "http", port: 9000 }),
    service("grpc-gate", { portName: "grpc", port: 9001 }),
    ...scenario.policies.map((policy, index) => policyObject(policy, index, port)),
    ...(scenario.mtls ? [istio("PeerAuthentication", "mtls", { mtls: { mode: scenario.mtls } })] : []),
    ...(scenario.tokens ? [tokenObject(jwks, scenario.tokens === "two issuers")] : []),
  ];
  const { listeners } = await renderProxy({
    objects,
    profile: "envoy",
    mesh: {
      ...mesh,
      trustDomainAliases: scenario.trustDomainAliases ?? [],
      ...(scenario.normalization ? { pathNormalization: { normalization: scenario.normalization } } : {}),
    },
  });
  const rendered = listeners.get("virtualInbound");
  const listener = secrets ? withSecrets(rendered, secrets) : rendered;
  // Capture is not part of this: clients connect to the port itself.
  return {
    ...listener,
    name: `${scenario.name} ${port}`,
    address: { socketAddress: { address: ownAddress, portValue: port } },
    listenerFilters: listener.listenerFilters.filter(({ name }: Json) => !name.endsWith("original_dst")),
  };
}

function policyObject({ dryRun, ...spec }: Spec, index: number, port: number): KubeObject {
  return {
    apiVersion: "security.istio.io/v1",
    kind: "AuthorizationPolicy",
    metadata: {
      name: `p${index}`,
      namespace: "default",
      ...(dryRun === true ? { annotations: { "istio.io/dry-run": "true" } } : {}),
    },
    spec: JSON.parse(JSON.stringify(spec).replaceAll('"PORT"', `"${port}"`)),
  };
}

function tokenObject([first, second]: readonly [string, string], both: boolean): KubeObject {
  const audiences = ["web", "orders"];
  const jwtRules = [
    { issuer: "https://issuer.example", jwks: first, audiences },
    ...(both ? [{ issuer: "https://second.example", jwks: second, audiences }] : []),
  ];
  return {
    apiVersion: "security.istio.io/v1",
    kind: "RequestAuthentication",
    metadata: { name: "tokens", namespace: "default" },
    spec: { jwtRules },
  };
}

/** Secrets written out, since nobody serves them here. */
export function withSecrets(json: Json, secrets: { readonly own: Credentials; readonly root: string }): Json {
  const rewrite = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(rewrite);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => replace(key, member)));
  };
  const own = {
    certificateChain: { inlineString: secrets.own.cert },
    privateKey: { inlineString: secrets.own.key },
  };
  const replace = (key: string, value: Json): [string, Json] => {
    if (key === "tlsCertificateSdsSecretConfigs") return ["tlsCertificates", value.map(() => own)];
    if (key !== "combinedValidationContext") return [key, rewrite(value)];
    const trustedCa = { inlineString: secrets.root };
    return ["validationContext", { ...value.defaultValidationContext, trustedCa }];
  };
  return rewrite(json);
}
