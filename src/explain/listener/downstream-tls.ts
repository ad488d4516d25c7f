/** A filter chain and a connection in; what is left once TLS is ended, or why the handshake fails, out. */
import type { FilterChain } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { CertificateValidationContext } from "../../gen/envoy/extensions/transport_sockets/tls/v3/common_pb.js";
import {
  type CommonTlsContext,
  DownstreamTlsContextSchema,
} from "../../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import { matchesText, showText } from "../match/text.ts";
import type { Connection } from "../request.ts";
import { unpack } from "../unpack.ts";

export type TlsEnd =
  /** The chain does not look into TLS. */
  | { readonly kind: "untouched" }
  | { readonly kind: "ended"; readonly connection: Connection; readonly peer: string | undefined; readonly sni: string }
  | { readonly kind: "failed"; readonly why: string };

export function endTls({ transportSocket }: FilterChain, connection: Connection): TlsEnd {
  const config = transportSocket?.configType;
  const context = config?.case === "typedConfig" ? unpack(DownstreamTlsContextSchema, config.value) : undefined;
  if (!context) return { kind: "untouched" };
  const [hello, ...inner] = connection.tls;
  if (!hello) return { kind: "failed", why: "it expects TLS, and plain text comes" };
  const validation = validationOf(context.commonTlsContext);
  if (context.requireClientCertificate && hello.peer === undefined)
    return { kind: "failed", why: "it asks for a certificate of the client, and there is none" };
  // Without anything to check it against, Envoy does not take a certificate at all.
  const isChecked = context.commonTlsContext?.validationContextType.case !== undefined;
  const peer = isChecked || context.requireClientCertificate ? hello.peer : undefined;
  const names = validation?.matchSubjectAltNames ?? [];
  if (peer !== undefined && names.length > 0 && !names.some((name) => matchesText(name, peer)))
    return { kind: "failed", why: `${peer} is none of ${names.map(showText).join(", ")}` };
  return { kind: "ended", connection: { ...connection, tls: inner }, peer, sni: hello.sni };
}

export function validationOf(common: CommonTlsContext | undefined): CertificateValidationContext | undefined {
  const type = common?.validationContextType;
  if (type?.case === "validationContext") return type.value;
  return type?.case === "combinedValidationContext" ? type.value.defaultValidationContext : undefined;
}
