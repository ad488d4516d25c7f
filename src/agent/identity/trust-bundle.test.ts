import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { createCertificateAuthority, createSelfSignedBundle } from "../../ca/index.ts";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { ProxyConfigSchema } from "../../gen/istio/proxy_config_pb.js";
import { silentLogger } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { createCsr, formatBundle, formatPrivateKey, generateKey, parseCertificates } from "../../pki/index.ts";
import { createSecretSource } from "./secrets.ts";
import { createTrustBundle, isSignedUnderFirst, type TrustBundle } from "./trust-bundle.ts";

const authority = async (organization: string) =>
  createCertificateAuthority({
    bundle: await createSelfSignedBundle({ organization, now: new Date() }),
    now: () => new Date(),
  });

/** The control plane tells of roots; what was the answer's complaint. */
function tell(bundle: TrustBundle, texts: readonly string[]): string {
  const resource = anyPack(ProxyConfigSchema, create(ProxyConfigSchema, { caCertificatesPem: [...texts] }));
  const response = create(DeltaDiscoveryResponseSchema, {
    typeUrl: types.proxyConfig,
    nonce: "1",
    resources: [{ name: "trust-bundle", resource }],
  });
  const answer = bundle.subscription.receive(toBinary(DeltaDiscoveryResponseSchema, response));
  const { responseNonce, errorDetail } = fromBinary(DeltaDiscoveryRequestSchema, answer ?? new Uint8Array());
  expect(responseNonce).toBe("1");
  return errorDetail?.message ?? "";
}

test("roots that the control plane tells are believed besides those of the certificate, each once", async () => {
  const [old, fresh] = [await authority("old"), await authority("fresh")];
  const key = await generateKey();
  const workload = { trustDomain: "cluster.local", namespace: "ns", serviceAccount: "a" };
  const { chain } = old.sign(createCsr({ key }), workload, 0);
  const credentials = {
    ...{ chain: chain.join(""), key: formatPrivateKey(key.privateKey) },
    ...{ roots: old.roots(), notAfter: new Date() },
  };
  const identity = {
    ...{ current: () => credentials, onChange: () => () => {} },
    ...{ renewSoon: () => {}, run: async () => {} },
  };
  const trustBundle = createTrustBundle(silentLogger);
  const source = createSecretSource({ identity, trustBundle, extraRoots: () => "", log: silentLogger });
  const believed = (): string => {
    const content = source.get("ROOTCA")?.content;
    return content?.type === "roots" ? formatBundle(parseCertificates(content.pem)) : "";
  };
  let news = 0;
  source.watch("ROOTCA", () => news++);
  expect(believed()).toBe(old.roots());
  expect(tell(trustBundle, [old.roots(), fresh.roots()])).toBe("");
  expect(believed()).toBe(old.roots() + fresh.roots());
  expect(isSignedUnderFirst(credentials, trustBundle.current())).toBe(true);
  // The same again is no news; another order is, because another signer signs.
  tell(trustBundle, [old.roots(), fresh.roots()]);
  expect(news).toBe(1);
  tell(trustBundle, [fresh.roots(), old.roots()]);
  expect(news).toBe(2);
  expect(isSignedUnderFirst(credentials, trustBundle.current())).toBe(false);
});

test.each([
  ["nothing", []],
  ["junk", ["junk"]],
  ["a certificate that is none", ["-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]],
])("%s is refused, and the roots stay", async (_, texts) => {
  const trustBundle = createTrustBundle(silentLogger);
  const roots = (await authority("old")).roots();
  tell(trustBundle, [roots]);
  expect(tell(trustBundle, texts)).not.toBe("");
  expect(trustBundle.current()).toBe(roots);
});
