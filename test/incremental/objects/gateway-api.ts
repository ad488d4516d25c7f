/** A seed's choices in; the Gateway API's objects out. */
import type { KubeObject } from "../../../src/model/index.ts";
import type { Random } from "../../random.ts";
import { apps, object, type Spec, some, times, userNamespaces, yes } from "../words.ts";

const group = "gateway.networking.k8s.io";

export function gatewayClass(random: Random, name: string): KubeObject {
  return object(`${group}/v1`, "GatewayClass", name, undefined, {
    spec: { controllerName: random.chance(0.9) ? "istio.io/gateway-controller" : "other.io/controller" },
  });
}

export function kubeGateway(random: Random, name: string, namespace: string): KubeObject {
  return object(`${group}/v1`, "Gateway", name, namespace, {
    metadata: { annotations: yes(random, 0.2, () => ({ "networking.istio.io/service-type": "ClusterIP" })) },
    spec: {
      gatewayClassName: random.chance(0.9) ? "istio" : "other",
      ...yes(random, 0.7, () => ({
        addresses: [{ type: "Hostname", value: "ingress.istio-system.svc.cluster.local" }],
      })),
      ...yes(random, 0.3, () => ({ allowedListeners: { namespaces: { from: random.pick(["All", "Same"]) } } })),
      listeners: listeners(random),
    },
  });
}

function listeners(random: Random): readonly Spec[] {
  return some(random, ["http", "https", "tcp", "tls"], 1, 3).map((name) => ({
    name,
    port: { http: 80, https: 443, tcp: 9000, tls: 8443 }[name],
    protocol: name.toUpperCase(),
    ...(name === "tcp"
      ? {}
      : yes(random, 0.5, () => ({ hostname: random.pick(["*.shop.example.com", "shop.example.com"]) }))),
    ...yes(random, 0.7, () => ({ allowedRoutes: { namespaces: allowed(random) } })),
    ...(name === "https"
      ? {
          tls: {
            mode: "Terminate",
            certificateRefs: [
              {
                group: "",
                kind: "Secret",
                name: random.pick(["cert1", "cert2"]),
                ...yes(random, 0.3, () => ({ namespace: "red" })),
              },
            ],
          },
        }
      : {}),
    ...(name === "tls" ? { tls: { mode: "Passthrough" } } : {}),
  }));
}

const allowed = (random: Random): Spec =>
  random.pick<Spec>([
    { from: "All" },
    { from: "All" },
    { from: "Same" },
    { from: "Selector", selector: { matchLabels: { team: "x" } } },
  ]);

export function listenerSet(random: Random, name: string, namespace: string): KubeObject {
  return object(`${group}/v1`, "ListenerSet", name, namespace, {
    spec: {
      parentRef: { group, kind: "Gateway", name: "kgw1", namespace: "istio-system" },
      listeners: [
        {
          name: "set",
          port: 8080,
          protocol: "HTTP",
          ...yes(random, 0.5, () => ({ hostname: "set.example.com" })),
          allowedRoutes: { namespaces: allowed(random) },
        },
      ],
    },
  });
}

function parents(random: Random): readonly Spec[] {
  return times(random, 1, 2, () =>
    random.pick<() => Spec>([
      () => ({
        group,
        kind: "Gateway",
        name: random.pick(["kgw1", "kgw2"]),
        namespace: random.pick(["istio-system", "istio-system", "red"]),
      }),
      () => ({
        group,
        kind: "Gateway",
        name: "kgw1",
        namespace: "istio-system",
        sectionName: random.pick(["http", "https", "tcp", "tls"]),
      }),
      () => ({ group: "", kind: "Service", name: random.pick(apps), ...yes(random, 0.3, () => ({ port: 80 })) }),
      () => ({ group, kind: "ListenerSet", name: "ls1", namespace: "red" }),
    ])(),
  );
}

const backend = (random: Random): Spec => ({
  group: "",
  kind: "Service",
  name: random.pick(apps),
  port: random.pick([80, 8080, 9000]),
  weight: 1 + random.whole(3),
  ...yes(random, 0.3, () => ({ namespace: random.pick(userNamespaces) })),
});

export function httpRoute(random: Random, name: string, namespace: string): KubeObject {
  return object(`${group}/v1`, "HTTPRoute", name, namespace, {
    spec: {
      parentRefs: parents(random),
      ...yes(random, 0.5, () => ({
        hostnames: some(random, ["shop.example.com", "x.shop.example.com", "*.example.com"], 1, 2),
      })),
      rules: times(random, 1, 2, () => ({
        matches: [{ path: { type: random.pick(["PathPrefix", "Exact"]), value: random.pick(["/", "/x", "/y"]) } }],
        ...yes(random, 0.3, () => ({
          filters: [
            random.pick<Spec>([
              {
                type: "RequestHeaderModifier",
                requestHeaderModifier: { set: [{ name: "x", value: `${random.whole(3)}` }] },
              },
              { type: "RequestRedirect", requestRedirect: { scheme: "https", statusCode: 301 } },
              { type: "RequestMirror", requestMirror: { backendRef: backend(random) } },
            ]),
          ],
        })),
        backendRefs: times(random, 0, 2, () => backend(random)),
        ...yes(random, 0.2, () => ({ timeouts: { request: "3s" } })),
      })),
    },
  });
}

export function grpcRoute(random: Random, name: string, namespace: string): KubeObject {
  return object(`${group}/v1`, "GRPCRoute", name, namespace, {
    spec: {
      parentRefs: parents(random),
      rules: [
        { matches: [{ method: { service: "s", method: `m${random.whole(3)}` } }], backendRefs: [backend(random)] },
      ],
    },
  });
}

export function tcpRoute(random: Random, name: string, namespace: string): KubeObject {
  return object(`${group}/v1alpha2`, "TCPRoute", name, namespace, {
    spec: { parentRefs: parents(random), rules: [{ backendRefs: times(random, 1, 2, () => backend(random)) }] },
  });
}

export function tlsRoute(random: Random, name: string, namespace: string): KubeObject {
  return object(`${group}/v1`, "TLSRoute", name, namespace, {
    spec: { parentRefs: parents(random), hostnames: ["shop.example.com"], rules: [{ backendRefs: [backend(random)] }] },
  });
}

export function referenceGrant(random: Random, name: string, namespace: string): KubeObject {
  return object(`${group}/v1`, "ReferenceGrant", name, namespace, {
    spec: {
      from: [
        random.pick<Spec>([
          { group, kind: random.pick(["HTTPRoute", "TCPRoute"]), namespace: random.pick(userNamespaces) },
          { group, kind: "Gateway", namespace: "istio-system" },
        ]),
      ],
      to: [
        {
          group: "",
          kind: random.pick(["Service", "Secret"]),
          ...yes(random, 0.3, () => ({ name: random.pick(["a", "cert1"]) })),
        },
      ],
    },
  });
}

export function backendTlsPolicy(random: Random, name: string, namespace: string): KubeObject {
  return object(`${group}/v1`, "BackendTLSPolicy", name, namespace, {
    spec: {
      targetRefs: [
        { group: "", kind: "Service", name: random.pick(apps), ...yes(random, 0.4, () => ({ sectionName: "http" })) },
      ],
      validation: {
        hostname: "x.example.com",
        ...random.pick<Spec>([
          { wellKnownCACertificates: "System" },
          { caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "ca" }] },
        ]),
      },
    },
  });
}
