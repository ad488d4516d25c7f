/** An mTLS mode and a protocol in; the chains that a port needs, in order, each with what it matches, out. */
import type { MtlsMode } from "../../mesh/index.ts";
import { isHttp, isTcp, type Protocol } from "../../model/index.ts";
import { plaintextHttp } from "./outbound-chain.ts";

export interface InboundMatch {
  readonly kind: "http" | "tcp";
  readonly transport: "tls" | "raw_buffer";
  readonly applicationProtocols: readonly string[];
  /** Terminates TLS; else TLS is passed on as it is. */
  readonly terminates: boolean;
}

/** What clients of the mesh say by ALPN about what is inside their mTLS. */
const mtlsHttp = ["istio-http/1.0", "istio-http/1.1", "istio-h2"];
const mtlsTcp = ["istio-peer-exchange", "istio"];
export const anyMtls: readonly string[] = ["istio", "istio-peer-exchange", ...mtlsHttp];

const mtls = (kind: "http" | "tcp", applicationProtocols: readonly string[] = []): InboundMatch => ({
  kind,
  transport: "tls",
  applicationProtocols,
  terminates: true,
});
const plain = (kind: "http" | "tcp", applicationProtocols: readonly string[] = []): InboundMatch => ({
  kind,
  transport: "raw_buffer",
  applicationProtocols,
  terminates: false,
});
/** TLS of the application's own. */
const foreignTls: InboundMatch = { kind: "tcp", transport: "tls", applicationProtocols: [], terminates: false };

const table: Readonly<Record<MtlsMode, Readonly<Record<"http" | "tcp" | "auto", readonly InboundMatch[]>>>> = {
  STRICT: {
    http: [mtls("http")],
    tcp: [mtls("tcp")],
    auto: [mtls("http", mtlsHttp), mtls("tcp")],
  },
  PERMISSIVE: {
    http: [mtls("http", anyMtls), plain("http")],
    tcp: [mtls("tcp", anyMtls), foreignTls, plain("tcp")],
    auto: [mtls("http", mtlsHttp), plain("http", plaintextHttp), mtls("tcp", mtlsTcp), plain("tcp"), foreignTls],
  },
  DISABLE: {
    http: [plain("http")],
    tcp: [plain("tcp")],
    auto: [plain("http", plaintextHttp), plain("tcp")],
  },
};

export function inboundMatches(mode: MtlsMode, protocol: Protocol): readonly InboundMatch[] {
  return table[mode][isHttp(protocol) ? "http" : isTcp(protocol) || protocol === "UDP" ? "tcp" : "auto"];
}
