/** A proxy's name and its control plane in; the admin port of an Envoy that has exactly what it was sent out. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { listAt, textAt } from "../../src/apiserver/access.ts";
import { isRecord } from "../../src/lib/index.ts";

export interface Admin {
  readonly port: number;
  close(): Promise<void>;
}

/** `proxy` is `pod.namespace`. */
export async function serveAdmin(monitoring: number, proxy: string): Promise<Admin> {
  const server: Server = createServer((request, response) => {
    answer(monitoring, proxy, request.url ?? "/").then(
      (body) => response.end(typeof body === "string" ? body : JSON.stringify(body)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

async function answer(monitoring: number, proxy: string, target: string): Promise<unknown> {
  const { pathname } = new URL(target, "http://admin");
  switch (pathname.replace(/^\/+/, "")) {
    case "config_dump":
      return withBootstrap(await sent(monitoring, proxy), proxy);
    case "clusters":
      return { cluster_statuses: clusterStatuses(await sent(monitoring, proxy)) };
    case "server_info":
      return { version: "0/1.40.0/Clean/RELEASE/BoringSSL", state: "LIVE", node: { id: proxy } };
    case "logging":
      return "active loggers:\n  admin: warning\n  http: warning\n  rbac: warning\n";
    case "stats":
      return "server.live: 1\nserver.state: 0\n";
    default:
      return "";
  }
}

async function sent(monitoring: number, proxy: string): Promise<readonly unknown[]> {
  const url = `http://127.0.0.1:${monitoring}/debug/config_dump?proxyID=${proxy}&include_eds=true`;
  return listAt(await (await fetch(url)).json(), "configs");
}

export function withBootstrap(configs: readonly unknown[], proxy: string): object {
  const type = "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump";
  const bootstrap = {
    "@type": type,
    bootstrap: { node: { id: `sidecar~10.0.0.1~${proxy}~shop.svc.cluster.local`, cluster: proxy } },
  };
  return { configs: [bootstrap, ...configs.filter((one) => textAt(one, "@type") !== type)] };
}

/** As Envoy counts them: each host with its address, healthy. */
function clusterStatuses(configs: readonly unknown[]): readonly object[] {
  const endpoints = configs.filter((one) => textAt(one, "@type").endsWith("EndpointsConfigDump"));
  return endpoints
    .flatMap((one) => listAt(one, "dynamicEndpointConfigs"))
    .map((one) => (isRecord(one) ? one["endpointConfig"] : undefined))
    .map((assignment) => ({
      name: textAt(assignment, "clusterName"),
      addedViaApi: true,
      hostStatuses: listAt(assignment, "endpoints")
        .flatMap((locality) => listAt(locality, "lbEndpoints"))
        .map((host) => ({
          address: isRecord(host) && isRecord(host["endpoint"]) ? host["endpoint"]["address"] : {},
          healthStatus: { edsHealthStatus: "HEALTHY" },
          weight: 1,
        })),
    }));
}
