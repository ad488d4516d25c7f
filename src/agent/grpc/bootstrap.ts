/** The node and where its agent leaves things in; the bootstrap file of a gRPC application that is its own xDS client out. */
import { join } from "node:path";
import type { JsonObject } from "../bootstrap/json.ts";
import type { Node } from "../bootstrap/node.ts";
import { certificateFileNames } from "../identity/certificate-files.ts";

export interface GrpcBootstrapOptions {
  readonly node: Node;
  /** Absolute. */
  readonly xdsSocket: string;
  /** Absolute; undefined where no certificates are written: then the application has none. */
  readonly certificateFolder: string | undefined;
  readonly refreshSeconds: number;
}

/** What a gRPC server asks for stands for the address that it listens on. */
const listenerTemplate = "xds.istio.io/grpc/lds/inbound/%s";

export function buildGrpcBootstrap(options: GrpcBootstrapOptions): JsonObject {
  const { node, xdsSocket, certificateFolder: folder } = options;
  const { region, zone, subZone } = node.locality;
  return {
    xds_servers: [
      {
        server_uri: `unix://${xdsSocket}`,
        channel_creds: [{ type: "insecure" }],
        server_features: ["xds_v3"],
      },
    ],
    node: {
      id: node.id,
      metadata: { ...node.metadata, GENERATOR: "grpc" },
      // Some clients refuse a node without one.
      locality: region === "" ? {} : { region, zone, sub_zone: subZone },
    },
    ...(folder === undefined
      ? {}
      : { certificate_providers: { default: fileWatcher(folder, options.refreshSeconds) } }),
    server_listener_resource_name_template: listenerTemplate,
  };
}

/** The name is that of the contexts which the control plane sends. */
function fileWatcher(folder: string, refreshSeconds: number): JsonObject {
  return {
    plugin_name: "file_watcher",
    config: {
      private_key_file: join(folder, certificateFileNames.key),
      certificate_file: join(folder, certificateFileNames.chain),
      ca_certificate_file: join(folder, certificateFileNames.roots),
      refresh_interval: `${refreshSeconds}s`,
    },
  };
}

const usualRefreshSeconds = 900;

/** A certificate of a short life is renewed before the application would look again: it looks twice in the time that is left. */
export function refreshSeconds(certificateTtlMs: number, graceRatio: number): number {
  return Math.max(1, Math.min(usualRefreshSeconds, Math.floor((certificateTtlMs * graceRatio) / 2000)));
}
