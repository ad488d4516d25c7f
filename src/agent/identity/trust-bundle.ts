/**
 * What the control plane says of roots in; the roots that Envoy believes besides those that came with its certificate
 * out. They are asked for on the stream that Envoy has, and the last ones are kept while the control plane is away.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { ProxyConfigSchema } from "../../gen/istio/proxy_config_pb.js";
import { FairleadError, type Logger } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { chainsTo, parseCertificates } from "../../pki/index.ts";
import type { OwnSubscription } from "../own-subscription.ts";
import type { WorkloadCredentials } from "./credentials.ts";

export interface TrustBundle {
  /** PEM; empty where the control plane says nothing of roots. */
  current(): string;
  /** Called when the text is another one, even of the same roots: then a new certificate is wanted. */
  onChange(listener: () => void): () => void;
  readonly subscription: OwnSubscription;
}

const invalidArgument = 3;

export function createTrustBundle(log: Logger): TrustBundle {
  const listeners = new Set<() => void>();
  let current = "";
  const take = (text: string): void => {
    if (text === current) return;
    current = text;
    log.info("the control plane told of roots", { roots: parseCertificates(text).length });
    for (const listener of listeners) listener();
  };
  return {
    current: () => current,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    subscription: {
      typeUrl: types.proxyConfig,
      isWhole: true,
      // Without a word of what is held: so each control plane knows that this one has what it says.
      attach(send) {
        send(encodeRequest({ resourceNamesSubscribe: ["*"] }));
        return () => {};
      },
      receive(bytes) {
        const { nonce: responseNonce, resources } = fromBinary(DeltaDiscoveryResponseSchema, bytes);
        try {
          const text = resources.map(({ resource }) => bundleOf(resource?.value ?? new Uint8Array())).join("");
          if (resources.length > 0) take(text);
          return encodeRequest({ responseNonce });
        } catch (error) {
          const { message } = FairleadError.from(error);
          log.warn("roots of the control plane were refused", { cause: message });
          return encodeRequest({ responseNonce, errorDetail: { code: invalidArgument, message } });
        }
      },
    },
  };
}

/** Whether the certificate is of whoever signs now: his root is the first that the control plane tells of. */
export function isSignedUnderFirst({ chain }: Pick<WorkloadCredentials, "chain">, bundle: string): boolean {
  const [leaf, ...between] = parseCertificates(chain);
  const [first] = parseCertificates(bundle);
  return leaf !== undefined && first !== undefined && chainsTo(leaf, between, [first], new Date());
}

function bundleOf(bytes: Uint8Array): string {
  const text = fromBinary(ProxyConfigSchema, bytes).caCertificatesPem.map(withNewline).join("");
  if (parseCertificates(text).length === 0) throw new FairleadError("invalid", "there is no root among them");
  return text;
}

interface Request {
  readonly resourceNamesSubscribe?: string[];
  readonly responseNonce?: string;
  readonly errorDetail?: { readonly code: number; readonly message: string };
}

function encodeRequest(request: Request): Uint8Array {
  return toBinary(
    DeltaDiscoveryRequestSchema,
    create(DeltaDiscoveryRequestSchema, { typeUrl: types.proxyConfig, ...request }),
  );
}

function withNewline(pem: string): string {
  return pem.endsWith("\n") ? pem : `${pem}\n`;
}
