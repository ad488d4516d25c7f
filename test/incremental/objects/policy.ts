/** A seed's choices in; Istio's policies, telemetry, proxy settings and extensions out. */
import type { KubeObject } from "../../../src/model/index.ts";
import type { Random } from "../../random.ts";
import { apps, labels, object, ports, type Spec, some, times, userNamespaces, yes } from "../words.ts";

const security = "security.istio.io/v1";

/** The selector of a policy, or what it is attached to. */
function target(random: Random): Spec {
  return random.pick<() => Spec>([
    () => ({}),
    () => ({ selector: { matchLabels: labels(random) } }),
    () => ({ selector: { matchLabels: labels(random) } }),
    () => ({ targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "kgw1" }] }),
    () => ({ targetRefs: [{ group: "", kind: "Service", name: random.pick(apps) }] }),
  ])();
}

export function authorizationPolicy(random: Random, name: string, namespace: string): KubeObject {
  const action = random.pick(["ALLOW", "DENY", "AUDIT", "CUSTOM"]);
  return object(security, "AuthorizationPolicy", name, namespace, {
    metadata: { annotations: yes(random, 0.2, () => ({ "istio.io/dry-run": "true" })) },
    spec: {
      ...target(random),
      action,
      ...(action === "CUSTOM" ? { provider: { name: random.pick(["authz", "missing"]) } } : {}),
      rules: times(random, 0, 2, () => ({
        ...yes(random, 0.6, () => ({
          from: [
            {
              source: random.pick<Spec>([
                { principals: [`cluster.local/ns/${random.pick(userNamespaces)}/sa/${random.pick(apps)}`] },
                { namespaces: [random.pick(userNamespaces)] },
                { ipBlocks: ["10.0.0.0/16"] },
                { requestPrincipals: ["*"] },
              ]),
            },
          ],
        })),
        ...yes(random, 0.6, () => ({
          to: [
            {
              operation: random.pick<Spec>([
                { paths: ["/x*"] },
                { ports: [`${random.pick(ports).port}`] },
                { methods: ["GET"] },
              ]),
            },
          ],
        })),
        ...yes(random, 0.2, () => ({ when: [{ key: "request.headers[x-a]", values: ["1"] }] })),
      })),
    },
  });
}

export function peerAuthentication(random: Random, name: string, namespace: string): KubeObject {
  const mode = (): Spec => ({ mode: random.pick(["STRICT", "PERMISSIVE", "DISABLE", "UNSET"]) });
  const selected = name !== "default";
  return object(security, "PeerAuthentication", name, namespace, {
    spec: {
      ...(selected ? { selector: { matchLabels: labels(random) } } : {}),
      mtls: mode(),
      ...(selected ? yes(random, 0.4, () => ({ portLevelMtls: { [random.pick([8080, 9000])]: mode() } })) : {}),
    },
  });
}

export function requestAuthentication(random: Random, name: string, namespace: string): KubeObject {
  return object(security, "RequestAuthentication", name, namespace, {
    spec: {
      ...target(random),
      jwtRules: times(random, 0, 2, (index) => ({
        issuer: `issuer-${index}`,
        ...random.pick<Spec>([{ jwksUri: `https://keys.example.com/${random.whole(2)}` }, { jwks: '{"keys":[]}' }]),
        ...yes(random, 0.3, () => ({ audiences: ["x"] })),
        ...yes(random, 0.3, () => ({ forwardOriginalToken: true })),
      })),
    },
  });
}

export function telemetry(random: Random, name: string, namespace: string): KubeObject {
  const providers = (names: readonly string[]): Spec =>
    yes(random, 0.6, () => ({ providers: some(random, names, 1, 1).map((one) => ({ name: one })) }));
  return object("telemetry.istio.io/v1", "Telemetry", name, namespace, {
    spec: {
      ...target(random),
      ...yes(random, 0.5, () => ({
        accessLogging: [
          {
            ...providers(["envoy", "otel-log", "missing"]),
            ...yes(random, 0.3, () => ({ match: { mode: random.pick(["CLIENT", "SERVER", "CLIENT_AND_SERVER"]) } })),
            ...yes(random, 0.3, () => ({ disabled: random.chance(0.5) })),
            ...yes(random, 0.2, () => ({ filter: { expression: "response.code >= 400" } })),
          },
        ],
      })),
      ...yes(random, 0.4, () => ({
        metrics: [
          {
            ...providers(["prometheus"]),
            ...yes(random, 0.5, () => ({
              overrides: [{ match: { metric: "REQUEST_COUNT", mode: "CLIENT" }, disabled: random.chance(0.5) }],
            })),
          },
        ],
      })),
      ...yes(random, 0.4, () => ({
        tracing: [
          {
            ...providers(["zipkin", "otel"]),
            randomSamplingPercentage: random.whole(100),
            ...yes(random, 0.3, () => ({ customTags: { t: { literal: { value: `${random.whole(3)}` } } } })),
          },
        ],
      })),
    },
  });
}

export function proxyConfig(random: Random, name: string, namespace: string): KubeObject {
  return object("networking.istio.io/v1beta1", "ProxyConfig", name, namespace, {
    spec: {
      ...yes(random, 0.5, () => ({ selector: { matchLabels: labels(random) } })),
      ...yes(random, 0.5, () => ({ concurrency: random.whole(4) })),
      ...yes(random, 0.5, () => ({ environmentVariables: { ISTIO_META_X: `${random.whole(3)}` } })),
    },
  });
}

export function wasmPlugin(random: Random, name: string, namespace: string): KubeObject {
  return object("extensions.istio.io/v1alpha1", "WasmPlugin", name, namespace, {
    spec: {
      ...target(random),
      url: random.pick(["oci://example.com/a:1", "https://example.com/b.wasm"]),
      ...yes(random, 0.5, () => ({ phase: random.pick(["AUTHN", "AUTHZ", "STATS"]) })),
      ...yes(random, 0.3, () => ({ priority: random.whole(5) })),
      ...yes(random, 0.3, () => ({ pluginConfig: { n: random.whole(5) } })),
      ...yes(random, 0.2, () => ({ type: random.pick(["HTTP", "NETWORK"]) })),
      ...yes(random, 0.2, () => ({
        match: [{ mode: random.pick(["CLIENT", "SERVER"]), ports: [{ number: random.pick(ports).port }] }],
      })),
    },
  });
}

export function trafficExtension(random: Random, name: string, namespace: string): KubeObject {
  return object("extensions.istio.io/v1alpha1", "TrafficExtension", name, namespace, {
    spec: {
      ...target(random),
      ...random.pick<Spec>([
        { lua: { inlineCode: `-- ${random.whole(3)}` } },
        { wasm: { url: random.pick(["oci://example.com/a:1", "https://example.com/b.wasm"]) } },
      ]),
      ...yes(random, 0.5, () => ({ phase: random.pick(["AUTHN", "AUTHZ", "STATS"]) })),
      ...yes(random, 0.3, () => ({ priority: random.whole(5) })),
      ...yes(random, 0.2, () => ({ match: [{ mode: random.pick(["CLIENT", "SERVER"]) }] })),
    },
  });
}
