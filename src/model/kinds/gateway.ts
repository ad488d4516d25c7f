/** Istio's Gateway: servers on the edge of the mesh. */
import { defineKind } from "./kind.ts";
import { array, boolean, enumOf, type Infer, map, object, string, uint32 } from "./schema.ts";
import { istioStatus } from "./status.ts";

const gatewayPort = object(
  { number: uint32(), protocol: string(), name: string(), targetPort: uint32() },
  { proto: "istio.networking.v1alpha3.Port", required: ["number", "protocol", "name"] },
);
export type GatewayPort = Infer<typeof gatewayPort>;

const serverTLSSettingsTLSCertificate = object(
  { serverCertificate: string(), privateKey: string(), caCertificates: string() },
  { proto: "istio.networking.v1alpha3.ServerTLSSettings.TLSCertificate" },
);
export type ServerTLSSettingsTLSCertificate = Infer<typeof serverTLSSettingsTLSCertificate>;

export const serverTLSSettings = object(
  {
    httpsRedirect: boolean(),
    mode: enumOf(["PASSTHROUGH", "SIMPLE", "MUTUAL", "AUTO_PASSTHROUGH", "ISTIO_MUTUAL", "OPTIONAL_MUTUAL"], {
      proto: "istio.networking.v1alpha3.ServerTLSSettings.TLSmode",
    }),
    serverCertificate: string(),
    privateKey: string(),
    caCertificates: string(),
    caCrl: string(),
    credentialName: string(),
    credentialNames: array(string(), { minItems: 1, maxItems: 2 }),
    caCertCredentialName: string(),
    tlsCertificates: array(serverTLSSettingsTLSCertificate, { minItems: 1, maxItems: 2 }),
    subjectAltNames: array(string()),
    verifyCertificateSpki: array(string()),
    verifyCertificateHash: array(string()),
    minProtocolVersion: enumOf(["TLS_AUTO", "TLSV1_0", "TLSV1_1", "TLSV1_2", "TLSV1_3"], {
      proto: "istio.networking.v1alpha3.ServerTLSSettings.TLSProtocol",
    }),
    maxProtocolVersion: enumOf(["TLS_AUTO", "TLSV1_0", "TLSV1_1", "TLSV1_2", "TLSV1_3"], {
      proto: "istio.networking.v1alpha3.ServerTLSSettings.TLSProtocol",
    }),
    cipherSuites: array(string()),
    insecureSkipVerify: boolean({ nullable: true }),
    ecdhCurves: array(string()),
  },
  {
    proto: "istio.networking.v1alpha3.ServerTLSSettings",
    rules: [
      {
        message: "only one of credentialNames or tlsCertificates can be set",
        rule: "(has(self.tlsCertificates) ? 1 : 0) + (has(self.credentialNames) ? 1 : 0) <= 1",
      },
      {
        message: "only one of credentialName or credentialNames can be set",
        rule: "(has(self.credentialName) ? 1 : 0) + (has(self.credentialNames) ? 1 : 0) <= 1",
      },
      {
        message: "only one of credentialName or tlsCertificates can be set",
        rule: "(has(self.credentialNames) ? 1 : 0) + (has(self.tlsCertificates) ? 1 : 0) <= 1",
      },
    ],
  },
);
export type ServerTLSSettings = Infer<typeof serverTLSSettings>;

const gatewayServer = object(
  {
    port: gatewayPort,
    bind: string(),
    hosts: array(string()),
    tls: serverTLSSettings,
    defaultEndpoint: string(),
    name: string(),
  },
  { proto: "istio.networking.v1alpha3.Server", required: ["port", "hosts"] },
);
export type GatewayServer = Infer<typeof gatewayServer>;

const gatewaySpec = object(
  { servers: array(gatewayServer), selector: map(string()) },
  { proto: "istio.networking.v1alpha3.Gateway" },
);
export type GatewaySpec = Infer<typeof gatewaySpec>;

export const gateway = defineKind({
  group: "networking.istio.io",
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1alpha3", served: true, storage: false },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "Gateway",
  plural: "gateways",
  shortNames: ["gw"],
  categories: ["istio-io", "networking-istio-io"],
  scope: "Namespaced",
  printerColumns: [],
  spec: gatewaySpec,
  status: istioStatus,
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", release: "istio" },
  encoding: "protobuf",
});
