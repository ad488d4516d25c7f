/** An Envoy resource's metadata in; the Istio object that it was made from, as `name.namespace`, out. */
import type { Metadata } from "../../gen/envoy/config/core/v3/base_pb.js";

export function describeOrigin(metadata: Metadata | undefined): string {
  const istio = metadata?.filterMetadata["istio"];
  if (!istio || !("config" in istio)) return "";
  const path = typeof istio["config"] === "string" ? istio["config"] : "";
  if (!path.startsWith("/apis/networking.istio.io/")) return "<unknown>";
  // /apis/GROUP/VERSION/namespaces/NAMESPACE/KIND/NAME
  const parts = path.split("/");
  return parts.length === 8 ? `${parts[7]}.${parts[5]}` : "";
}
