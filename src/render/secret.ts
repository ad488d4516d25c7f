/** Names of secrets in; certificates, keys and CAs for those that the proxy may read out. */
import { create } from "@bufbuild/protobuf";
import { type Secret, SecretSchema } from "../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";
import { type CaCertificate, type KeyPair, types } from "../model/index.ts";
import type { ResourceKind } from "./kind.ts";
import { readableSecret } from "./secret-access.ts";
import { secretNames } from "./secret-names.ts";
import { encodePart, type View } from "./view.ts";

export const secretKind: ResourceKind = {
  type: types.secret,
  names: secretNames,
  /** A secret that does not exist, or is not for this proxy, is not there: one bad reference must not hold up the rest. */
  render(view, name) {
    const secret = secretOf(view, name);
    return secret && encodePart(SecretSchema, secret);
  },
};

function secretOf(view: View, resource: string): Secret | undefined {
  const found = readableSecret(view, resource);
  if (!found) return undefined;
  const { object, namespace, name, isCa } = found;
  const { credentials } = view.mesh;
  if (object === "ConfigMap") return caSecret(resource, credentials.configMapCa(namespace, name));
  return isCa
    ? caSecret(resource, credentials.caCertificate(namespace, name))
    : tlsSecret(resource, credentials.keyPair(namespace, name));
}

const inline = (bytes: Uint8Array) => ({ specifier: { case: "inlineBytes" as const, value: bytes } });

function caSecret(name: string, ca: CaCertificate | undefined): Secret | undefined {
  if (!ca) return undefined;
  const value = { trustedCa: inline(ca.cert), ...(ca.crl ? { crl: inline(ca.crl) } : {}) };
  return create(SecretSchema, { name, type: { case: "validationContext", value } });
}

function tlsSecret(name: string, pair: KeyPair | undefined): Secret | undefined {
  if (!pair) return undefined;
  const value = {
    certificateChain: inline(pair.cert),
    privateKey: inline(pair.key),
    ...(pair.staple ? { ocspStaple: inline(pair.staple) } : {}),
  };
  return create(SecretSchema, { name, type: { case: "tlsCertificate", value } });
}
