/** TLS settings of a listener in; those of an internal gateway's server, or what is wrong with them, out. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import {
  configMapCa,
  type GatewayApiCertificateRef,
  type GatewayApiListener,
  type KeyPair,
  type KubeGatewaySpec,
  type KubeGatewayValidation,
  type ServerTLSSettings,
  secretCa,
  secretKeyPair,
} from "../../model/index.ts";
import type { Grants } from "./grant.ts";
import { type GatewayApiInputs, gatewayGroup, groupKind } from "./inputs.ts";
import { joinProblems, type Outcome, type Problem, problem } from "./problem.ts";

/** The object that has the listener: a Gateway, or a ListenerSet of one. */
export interface ListenerOwner {
  readonly kind: "Gateway" | "ListenerSet";
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface TlsContext {
  readonly inputs: GatewayApiInputs;
  readonly grants: Grants;
}

const secretScheme = "kubernetes-gateway://";
const modeOption = "gateway.istio.io/tls-terminate-mode";
const cipherOption = "gateway.istio.io/tls-cipher-suites";

export function listenerTls(
  context: TlsContext,
  owner: ListenerOwner,
  listener: GatewayApiListener,
  gateway: KubeGatewaySpec,
): Outcome<ServerTLSSettings> {
  const { tls } = listener;
  if (!tls) return {};
  if (tls.mode === "Passthrough")
    return {
      value: withCiphers(
        { mode: isAutoPassthrough(owner, listener) ? "AUTO_PASSTHROUGH" : "PASSTHROUGH" },
        tls.options,
      ),
    };
  const asked = tls.options?.[modeOption];
  if (asked === "ISTIO_MUTUAL") return { value: { mode: "ISTIO_MUTUAL" } };
  if (asked === "ISTIO_SIMPLE") return { value: { mode: "SIMPLE", credentialName: "builtin://" } };
  const mode = asked === "MUTUAL" || asked === "OPTIONAL_MUTUAL" ? asked : "SIMPLE";
  const certificates = serverCertificates(context, owner, tls.certificateRefs ?? []);
  if (!certificates.value)
    return { value: { mode }, ...(certificates.problem ? { problem: certificates.problem } : {}) };
  const served: ServerTLSSettings = { mode, ...certificates.value };
  const validation = frontendValidation(gateway, listener.port ?? 0);
  if (!validation?.caCertificateRefs?.length) return { value: withCiphers(served, tls.options) };
  const client = clientValidation(context, owner, validation, asked);
  return client.value
    ? { value: withCiphers({ ...served, ...client.value }, tls.options) }
    : { value: served, ...(client.problem ? { problem: client.problem } : {}) };
}

/** A gateway between networks is told by its label and port, or by an explicit option. */
function isAutoPassthrough({ labels }: ListenerOwner, { tls, port }: GatewayApiListener): boolean {
  if (tls?.options?.["gateway.istio.io/listener-protocol"] === "auto-passthrough") return true;
  if (labels["topology.istio.io/network"] === undefined) return false;
  return String(port) === (labels["networking.istio.io/gatewayPort"] ?? "15443");
}

/** One that fails among several is left out; the rest still serves. */
function serverCertificates(
  context: TlsContext,
  owner: ListenerOwner,
  refs: readonly GatewayApiCertificateRef[],
): Outcome<ServerTLSSettings> {
  if (refs.length > 2)
    return { problem: problem("InvalidCertificateRef", "TLS mode can only support up to 2 server certificates") };
  const outcomes = refs.map((ref) => serverCertificate(context, owner, ref));
  const names = outcomes.map(({ value }) => value ?? "");
  const valid = names.filter((name) => name !== "");
  if (valid.length === 0) {
    const combined = outcomes.reduce<Problem | undefined>((all, { problem: one }) => joinProblems(all, one), undefined);
    return combined ? { problem: combined } : {};
  }
  return {
    value: valid.length === 1 && valid[0] !== undefined ? { credentialName: valid[0] } : { credentialNames: names },
  };
}

/** To what is in another namespace somebody there has to allow it. */
const mayRefer = (grants: Grants, owner: ListenerOwner, to: string, toNamespace: string, name: string): boolean =>
  toNamespace === owner.namespace ||
  grants({ from: `${gatewayGroup}/${owner.kind}`, fromNamespace: owner.namespace, to, toNamespace, name });

function serverCertificate(
  { inputs, grants }: TlsContext,
  owner: ListenerOwner,
  ref: GatewayApiCertificateRef,
): Outcome<string> {
  const namespace = ref.namespace ?? owner.namespace;
  const name = ref.name ?? "";
  // Before anything is looked up: whether the Secret exists is no business of those who may not refer to it.
  if (!mayRefer(grants, owner, "/Secret", namespace, name))
    return {
      problem: problem(
        "RefNotPermitted",
        `certificateRef ${name}/${namespace} not accessible to a Gateway in namespace "${owner.namespace}" (missing a ReferenceGrant?)`,
      ),
    };
  const shown = `${ref.group ?? ""}/${ref.kind ?? ""}/${name}.${ref.namespace ?? ""}`;
  const invalid = (why: string): Outcome<string> => ({
    problem: problem("InvalidCertificateRef", `invalid certificate reference ${shown}, ${why}`),
  });
  if (groupKind(ref, "", "Secret") !== "/Secret") return invalid("only secret is allowed");
  const secret = inputs.secrets.get(`${namespace}/${name}`);
  if (!secret) return invalid(`secret ${namespace}/${name} not found`);
  const pair = secretKeyPair(secret);
  if (!pair) return invalid("found secret, but didn't have expected keys (cert and key) or (tls.crt and tls.key)");
  if (!isPair(pair)) return invalid("the certificate is malformed");
  return { value: `${secretScheme}${namespace}/${name}` };
}

/** Of those that a listener serves. */
export function expiredCertificates({ expired }: GatewayApiInputs, tls: ServerTLSSettings): Problem | undefined {
  const names = tls.credentialNames ?? [tls.credentialName ?? ""];
  return names.reduce<Problem | undefined>((all, name) => {
    const key = name.startsWith(secretScheme) ? name.slice(secretScheme.length) : undefined;
    const at = key === undefined ? undefined : expired?.get(key);
    const told =
      at && problem("InvalidCertificateRef", `the certificate of secret ${key} expired at ${at.toISOString()}`);
    return joinProblems(all, told);
  }, undefined);
}

function isPair({ cert, key }: KeyPair): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(Buffer.from(key)));
  } catch {
    return false;
  }
}

function frontendValidation(gateway: KubeGatewaySpec, port: number): KubeGatewayValidation | undefined {
  const frontend = gateway.tls?.frontend;
  const own = frontend?.perPort?.find((entry) => entry.port === port);
  return own ? own.tls?.validation : frontend?.default?.validation;
}

function clientValidation(
  { inputs, grants }: TlsContext,
  owner: ListenerOwner,
  validation: KubeGatewayValidation,
  asked: string | undefined,
): Outcome<ServerTLSSettings> {
  const [ref, ...more] = validation.caCertificateRefs ?? [];
  if (!ref || more.length > 0)
    return { problem: problem("InvalidCACertificateRef", "only one caCertificateRef is supported") };
  const namespace = ref.namespace ?? owner.namespace;
  const name = ref.name ?? "";
  const kind = `${ref.group ?? ""}/${ref.kind ?? ""}`;
  if (!mayRefer(grants, owner, kind, namespace, name))
    return {
      problem: problem(
        "RefNotPermitted",
        `caCertificateRef ${namespace}/${name} not accessible to a Gateway in namespace "${owner.namespace}" (missing a ReferenceGrant?)`,
      ),
    };
  const source = kind === "/Secret" ? inputs.secrets : kind === "/ConfigMap" ? inputs.configMaps : undefined;
  if (!source)
    return {
      problem: problem(
        "InvalidCACertificateKind",
        `invalid CA certificate reference ${kind}/${name}, only secret and configmap are allowed`,
      ),
    };
  const object = source.get(`${namespace}/${name}`);
  const ca = object && (kind === "/Secret" ? secretCa(object) : configMapCa(object));
  if (!ca)
    return {
      problem: problem(
        "InvalidCACertificateRef",
        `invalid CA certificate reference ${kind}/${name}, ${namespace}/${name} not found or without a certificate`,
      ),
    };
  const lax = validation.mode === "AllowInsecureFallback" && asked !== "MUTUAL" && asked !== "OPTIONAL_MUTUAL";
  const scheme = kind === "/Secret" ? "kubernetes-gateway" : "configmap";
  return {
    value: {
      mode: asked === "OPTIONAL_MUTUAL" || lax ? "OPTIONAL_MUTUAL" : "MUTUAL",
      insecureSkipVerify: lax,
      caCertCredentialName: `${scheme}://${namespace}/${name}-cacert`,
    },
  };
}

function withCiphers(
  settings: ServerTLSSettings,
  options: Readonly<Record<string, string>> | undefined,
): ServerTLSSettings {
  const suites = (options?.[cipherOption] ?? "")
    .split(",")
    .map((suite) => suite.trim())
    .filter((suite) => suite !== "");
  return suites.length > 0 ? { ...settings, cipherSuites: suites } : settings;
}
