/** Names of secrets in; certificates, keys and CAs for those that the proxy may read out. */
import { create } from "@bufbuild/protobuf";
import { type Secret, SecretSchema } from "../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";
import { type CaCertificate, type KeyPair, types } from "../model/index.ts";
import { ownFacet } from "./facets.ts";
import type { ResourceKind } from "./kind.ts";
import { layerRecipe } from "./layer.ts";
import { encodePart, resourceOf } from "./part.ts";
import { keyOf, resourceRecipe, wordsOf } from "./recipe.ts";
import { readableSecret } from "./secret/access.ts";
import { secretNames } from "./secret/names.ts";
import type { View } from "./view.ts";

/** A secret that does not exist, or is not for this proxy, is not there: one bad reference must not hold up the rest. */
const secretResource = resourceRecipe(ownFacet, types.secret, (view, key) => {
  const [name = ""] = wordsOf(key);
  const secret = secretOf(view, name);
  return secret && resourceOf(name, encodePart(SecretSchema, secret));
});

const secrets = layerRecipe(
  ownFacet,
  "secrets",
  (view) => new Map(secretNames(view).map((name) => [name, secretResource.ref(view, keyOf(name))])),
);

export const secretKind: ResourceKind = {
  type: types.secret,
  /** Most proxies need none: to note so for each would cost more than to look for the names of the others once more. */
  refs: (view) => (secretNames(view).length > 0 ? [secrets.ref(view)] : []),
  render: (view, name) => secretResource(view, keyOf(name)),
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
