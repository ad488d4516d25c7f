/** A server's certificate, or what a connection failed with, in; whether the server is who was asked for, and in plain words why not, out. */
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { systemCode } from "../lib/index.ts";

/**
 * By its DNS names and addresses alone, as Go has it. Node goes by the common name where there is neither: a workload's
 * certificate, which names an account, could then be a server's by its subject.
 */
export function checkServerNames(host: string, certificate: PeerCertificate): Error | undefined {
  return checkServerIdentity(host, { ...certificate, subject: { ...certificate.subject, CN: "" } });
}

const notSigned = "none of the root certificates that are trusted here has signed its certificate";
const notTls = "it does not speak TLS";

const reasons: ReadonlyMap<string, string> = new Map([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "its certificate is self-signed"],
  ["SELF_SIGNED_CERT_IN_CHAIN", notSigned],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", notSigned],
  ["UNABLE_TO_GET_ISSUER_CERT", notSigned],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", notSigned],
  ["CERT_SIGNATURE_FAILURE", notSigned],
  ["CERT_HAS_EXPIRED", "its certificate has expired, or the clock of this machine is wrong"],
  ["CERT_NOT_YET_VALID", "its certificate is not valid yet, or the clock of this machine is wrong"],
  ["INVALID_PURPOSE", "its certificate is not one for servers"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", notTls],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", notTls],
  ["ERR_SSL_HTTP_REQUEST", notTls],
]);

/** Undefined for a failure that says nothing of who the server is. */
export function whyNotTrusted(failure: unknown): string | undefined {
  const code = systemCode(failure) ?? "";
  return code === "ERR_TLS_CERT_ALTNAME_INVALID" ? otherNames(failure) : reasons.get(code);
}

/** They are whatever a stranger has had written into it. */
const maxNames = 200;

function otherNames(failure: unknown): string {
  const { host, cert } = failure as { readonly host?: string; readonly cert?: PeerCertificate };
  const names = (cert?.subjectaltname ?? "").slice(0, maxNames);
  return `its certificate is for ${names === "" ? "nobody by name" : names}, not for ${host}`;
}
