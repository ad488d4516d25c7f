/** An Envoy address in; how istioctl writes it out. */
import type { Address } from "../../gen/envoy/config/core/v3/address_pb.js";

export interface AddressParts {
  readonly kind: "socket" | "pipe" | "internal" | "unknown";
  readonly text: string;
  /** 0 where it has none. */
  readonly port: number;
}

export function addressParts(address: Address | undefined): AddressParts {
  const inner = address?.address;
  if (inner?.case === "socketAddress") {
    const { portSpecifier } = inner.value;
    const port = portSpecifier.case === "portValue" ? portSpecifier.value : 0;
    return { kind: "socket", text: inner.value.address, port };
  }
  if (inner?.case === "pipe") return { kind: "pipe", text: inner.value.path, port: 0 };
  if (inner?.case === "envoyInternalAddress" && inner.value.addressNameSpecifier.case === "serverListenerName") {
    const listener = inner.value.addressNameSpecifier.value;
    return { kind: "internal", text: `envoy://${listener}/${inner.value.endpointId}`, port: 0 };
  }
  return { kind: "unknown", text: "unknown", port: 0 };
}
