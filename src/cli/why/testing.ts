/** For tests: Pods with sidecars, a client and a server, as they stand in a file before other objects. */
export const clientAndWeb = `apiVersion: v1
kind: Pod
metadata: { name: client, namespace: shop, labels: { app: client, security.istio.io/tlsMode: istio } }
spec: { serviceAccountName: client, containers: [{ name: app }, { name: istio-proxy, args: [proxy, sidecar] }] }
status: { phase: Running, podIP: 10.0.0.9, podIPs: [{ ip: 10.0.0.9 }] }
---
apiVersion: v1
kind: Pod
metadata: { name: web, namespace: shop, labels: { app: web, version: v1, security.istio.io/tlsMode: istio } }
spec: { serviceAccountName: web, containers: [{ name: app }, { name: istio-proxy, args: [proxy, sidecar] }] }
status: { phase: Running, podIP: 10.0.0.1, podIPs: [{ ip: 10.0.0.1 }] }
---
`;

/** A Pod that is a gateway, with its Service. */
export const edgeGateway = `apiVersion: v1
kind: Pod
metadata: { name: edge, namespace: shop, labels: { app: edge } }
spec: { serviceAccountName: edge, containers: [{ name: istio-proxy, args: [proxy, router] }] }
status: { phase: Running, podIP: 10.0.0.8, podIPs: [{ ip: 10.0.0.8 }] }
---
apiVersion: v1
kind: Service
metadata: { name: edge, namespace: shop }
spec: { selector: { app: edge }, ports: [{ name: http, port: 80, targetPort: 8080 }] }
---
`;
