import { beforeAll, describe, expect, test } from "vitest";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../../pki/index.ts";
import { analyze } from "./analyze.ts";
import { credentialReferences } from "./credential.ts";

const now = new Date("2026-01-01T00:00:00Z");
const day = 86_400_000;
type Spec = Readonly<Record<string, unknown>>;
type Data = Readonly<Record<string, string>>;
const istio = (kind: string, spec: Spec, apiVersion = "networking.istio.io/v1") => ({
  ...{ apiVersion, kind, metadata: { name: "x", namespace: "shop" } },
  spec,
});
const pod = (namespace: string, app: string) => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { name: app, namespace, labels: { app } } },
});
const held = (kind: string, key: string, data: Data) => {
  const [namespace = "", name = ""] = key.split("/");
  return { apiVersion: "v1", kind, metadata: { name, namespace }, data };
};
const secret = (key: string, data: Data) => held("Secret", key, data);
const pods = [pod("edge", "gw"), pod("shop", "web")];
/** What is told, without the sentence around it. */
const told = (cluster: readonly unknown[], own = true): readonly string[] =>
  analyze({ files: [], cluster: [...pods, ...cluster] }, { now, own })
    .filter(({ path = "", code }) => /[cC]redentialName|certificateRefs/.test(path) && code !== "IST0128")
    .map(({ code, level, path, message }) => {
      const cause = /cannot be used: (.*?)\. Mend|(certificate that expires at .*?)\. Mend/.exec(message);
      return [code, level, path, cause?.[1] ?? cause?.[2]].filter((word) => word !== undefined).join(" ");
    });

let [good, soon, ended]: readonly Data[] = [];
beforeAll(async () => {
  [good, soon, ended] = await Promise.all([30, 3, -1].map(pair));
});
const encode = (text: string): string => Buffer.from(text).toString("base64");
async function pair(leftDays: number): Promise<Data> {
  const { publicKey, privateKey: key } = await generateKey();
  const terms = { profile: "server", subject: { commonName: "a" }, publicKey } as const;
  const life = { now: new Date(now.getTime() - (90 - leftDays) * day), ttlMs: 90 * day };
  const certificate = issueCertificate({ ...terms, ...life, signer: { certificate: undefined, key } });
  return { "tls.crt": encode(formatCertificate(certificate)), "tls.key": encode(formatPrivateKey(key)) };
}

describe("of a Gateway", () => {
  const gateway = (tls: Spec) => {
    const port = { number: 443, name: "https", protocol: "HTTPS" };
    return istio("Gateway", { selector: { app: "gw" }, servers: [{ port, hosts: ["a"], tls }] });
  };
  const simple = gateway({ mode: "SIMPLE", credentialName: "cert" });
  const path = "spec.servers[0].tls.credentialName";

  test("what is good is not told; what ends soon is, with a code of our own", () => {
    expect(told([simple, secret("edge/cert", good ?? {})])).toEqual([]);
    const expiring = [simple, secret("edge/cert", soon ?? {})];
    expect(told(expiring)).toEqual([`FLD0008 Warning ${path} certificate that expires at 2026-01-04T00:00:00.000Z`]);
    expect(told(expiring, false)).toEqual([]);
  });

  test("what is missing or has ended is told once, with Istio's codes", () => {
    expect(told([simple, secret("shop/cert", good ?? {})])).toEqual([`IST0101 Error ${path}`]);
    expect(told([simple, secret("edge/cert", ended ?? {})])).toEqual([`IST0161 Error ${path}`]);
    expect(told([simple, secret("edge/cert", { "tls.crt": "" })])).toEqual([`IST0161 Error ${path}`]);
  });

  test("what Istio does not see: a key of another certificate, a further namespace, several names, the clients' CA", () => {
    const mixed = { ...good, "tls.key": soon?.["tls.key"] ?? "" };
    expect(told([simple, secret("edge/cert", mixed)])).toEqual([
      `FLD0009 Error ${path} its key is not that of its certificate`,
    ]);
    expect(told([simple, secret("edge/cert", good ?? {}), pod("edge2", "gw")])).toEqual([
      `FLD0009 Error ${path} Secret edge2/cert has no certificate with its key`,
    ]);
    const several = gateway({ mode: "SIMPLE", credentialNames: ["cert", "other"] });
    expect(told([several, secret("edge/cert", good ?? {})])).toEqual([
      "FLD0009 Error spec.servers[0].tls.credentialNames[1] Secret edge/other has no certificate with its key",
    ]);
    const mutual = gateway({ mode: "MUTUAL", credentialName: "cert" });
    expect(told([mutual, secret("edge/cert", good ?? {})])).toEqual([
      `FLD0009 Error ${path} Secret edge/cert-cacert has no CA, nor has edge/cert`,
    ]);
    const ca = good?.["tls.crt"] ?? "";
    expect(told([mutual, secret("edge/cert", { ...good, "ca.crt": ca })])).toEqual([]);
    expect(told([mutual, secret("edge/cert", good ?? {}), secret("edge/cert-cacert", { cacert: ca })])).toEqual([]);
  });

  test("what is kept elsewhere, passed through, or on no proxy, is not told", () => {
    expect(told([gateway({ mode: "SIMPLE", credentialName: "builtin://" })]).join()).not.toContain("FLD");
    expect(told([gateway({ mode: "PASSTHROUGH", credentialName: "cert" })]).join()).not.toContain("FLD");
    const everywhere = { ...simple, spec: { ...simple.spec, selector: {} } };
    expect(told([everywhere]).join()).not.toContain("FLD");
    expect(credentialReferences(everywhere)).toEqual({ names: ["cert", "cert"], selector: undefined });
    const elsewhere = { ...simple, spec: { ...simple.spec, selector: { app: "nobody" } } };
    expect(told([elsewhere])).toEqual([]);
  });
});

describe("of a DestinationRule", () => {
  const rule = (tls: Spec, more: Spec = {}) => istio("DestinationRule", { host: "a", trafficPolicy: { tls }, ...more });
  const path = "spec.trafficPolicy.tls.credentialName";
  const gateway = istio("Gateway", { selector: { app: "gw" }, servers: [] });
  const selector = { workloadSelector: { matchLabels: { app: "web" } } };

  test("one with a selector is for its own workloads, another for gateways, of which one that has it is enough", () => {
    const own = rule({ mode: "MUTUAL", credentialName: "client" }, selector);
    expect(told([own, secret("shop/client", { ...soon, "ca.crt": good?.["tls.crt"] ?? "" })])).toEqual([
      `FLD0008 Warning ${path} certificate that expires at 2026-01-04T00:00:00.000Z`,
    ]);
    const shared = rule({ mode: "SIMPLE", credentialName: "client" });
    const missing = `FLD0009 Error ${path} Secret edge/client-cacert has no CA, nor has edge/client`;
    expect(told([shared])).toEqual([]);
    expect(told([shared, gateway])).toEqual([missing]);
    const ca = secret("edge/client", { cacert: good?.["tls.crt"] ?? "" });
    expect(told([shared, gateway, pod("edge2", "gw"), ca])).toEqual([]);
    expect(told([rule({ mode: "SIMPLE", credentialName: "client", insecureSkipVerify: true }), gateway])).toEqual([]);
  });

  test("a CA in a ConfigMap, of a port or a subset", () => {
    const tls = { mode: "SIMPLE", credentialName: "configmap://shop/roots" };
    const subsets = [{ name: "v1", trafficPolicy: { portLevelSettings: [{ port: { number: 1 }, tls }] } }];
    const own = istio("DestinationRule", { host: "a", subsets, ...selector });
    expect(told([own])).toEqual([
      "FLD0009 Error spec.subsets[0].trafficPolicy.portLevelSettings[0].tls.credentialName ConfigMap shop/roots has no CA",
    ]);
    const text = Buffer.from(good?.["tls.crt"] ?? "", "base64").toString();
    expect(told([own, held("ConfigMap", "shop/roots", { "ca.crt": text })])).toEqual([]);
    expect(credentialReferences(own)).toEqual({ names: ["roots-cacert", "roots"], selector: { app: "web" } });
    expect(credentialReferences(gateway)).toEqual({ names: [], selector: { app: "gw" } });
  });
});

test("of a Gateway of the Gateway API", () => {
  const tls = { certificateRefs: [{ name: "cert" }] };
  const listeners = [{ name: "l", port: 443, protocol: "HTTPS", tls }];
  const edge = istio("Gateway", { gatewayClassName: "istio", listeners }, "gateway.networking.k8s.io/v1");
  const path = "spec.listeners[0].tls.certificateRefs[0]";
  expect(told([edge, secret("shop/cert", soon ?? {})])).toEqual([
    `FLD0008 Warning ${path} certificate that expires at 2026-01-04T00:00:00.000Z`,
  ]);
  expect(told([edge, secret("shop/cert", good ?? {})])).toEqual([]);
});
