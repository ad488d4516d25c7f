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
