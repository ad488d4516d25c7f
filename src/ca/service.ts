/** `istio.v1.auth.IstioCertificateService/CreateCertificate`: a call with a token and a CSR in, a certificate chain out, or an answer that says nothing of why not. */
import type { X509Certificate } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type IstioCertificateRequest,
  type IstioCertificateResponse,
  IstioCertificateResponseSchema,
  IstioCertificateService,
} from "../gen/istio/auth_pb.js";
import { FairleadError, type Logger } from "../lib/index.ts";
import { formatIdentity, type Identity, parseIdentity } from "../model/index.ts";
import { type Call, protoMethod, type Route, RpcError, status, unary } from "../rpc/index.ts";
import type { CertificateAuthority, Terms } from "./authority.ts";
import { type AuthorizeNode, authorizeIssuance } from "./authorize.ts";
import { type Binding, bindingOf, lifeMs } from "./binding.ts";
import type { Issuances } from "./issuances.ts";
import type { CaMetrics } from "./metrics.ts";
import type { RateLimit } from "./rate-limit.ts";
import { rootsId } from "./rotation.ts";

/** Who a token belongs to, and what it is bound to. */
export interface TokenBearer {
  readonly identity: Identity;
  readonly binding?: Binding | undefined;
}

/** A bearer token in, who it belongs to out; undefined or a throw for a token that is not accepted. */
export type AuthenticateToken = (token: string, signal: AbortSignal) => Promise<TokenBearer | undefined>;

/** Whether the account, and the Pod that the certificate was issued to, are still there; a throw says no. */
export type StillThere = (identity: Identity, binding: Binding | undefined, signal: AbortSignal) => Promise<boolean>;

export type AcceptsPeer = (identity: Identity, certificate: X509Certificate) => boolean;

export interface CertificateServiceOptions {
  readonly authority: CertificateAuthority;
  readonly authenticate: AuthenticateToken;
  /** Asked before a certificate renews itself: deleting an account or a Pod is how it is revoked. */
  readonly stillThere: StillThere;
  /** Whether a verified certificate is one to go by: of our trust domain, and not revoked. */
  readonly acceptsPeer: AcceptsPeer;
  readonly authorizeNode?: AuthorizeNode;
  readonly rateLimit: RateLimit;
  readonly metrics: CaMetrics;
  readonly log: Logger;
  /** Where it is kept who has what. */
  readonly issuances?: Issuances;
  /** How long the judge of tokens may take. */
  readonly authenticateTimeoutMs?: number;
}

/** Service-account tokens have about 1 KB. */
const maxTokenBytes = 16 * 1024;

/** Whom a certificate is for, and on what terms. */
interface Permit extends Terms {
  readonly identity: Identity;
}

export function createCertificateService(options: CertificateServiceOptions): Route {
  const log = options.log.scope("ca");
  return unary(protoMethod(IstioCertificateService.method.createCertificate), async (request, call) => {
    options.metrics.count("citadel_server_csr_count");
    const permit = await permitOf(request, call, options, log);
    if (!options.rateLimit.take(formatIdentity(permit.identity)))
      throw new RpcError(status.resourceExhausted, "too many certificate requests");
    return issue(request, permit, call, options, log);
  });
}

async function permitOf(
  request: IstioCertificateRequest,
  call: Call,
  options: CertificateServiceOptions,
  log: Logger,
): Promise<Permit> {
  const caller = await authenticate(call, options, log);
  const asked = request.metadata?.ImpersonatedIdentity;
  const impersonated = typeof asked === "string" ? asked : "";
  const issuance = caller
    ? authorizeIssuance({ caller: caller.identity, impersonated }, options.authorizeNode)
    : { refused: "not authenticated" };
  // What a node agent is bound to says nothing of the workload that it asks for.
  if (caller && "identity" in issuance)
    return impersonated === "" ? caller : { identity: issuance.identity, maxLifeMs: caller.maxLifeMs };
  options.metrics.count("citadel_server_authentication_failure_count");
  if (caller && "refused" in issuance)
    log.warn("issuance refused", {
      caller: formatIdentity(caller.identity),
      cause: issuance.refused,
      client: call.peer.address,
    });
  throw new RpcError(status.unauthenticated, "request authenticate failure");
}

/** As in Istio a verified client certificate goes first, then the token. */
async function authenticate(call: Call, options: CertificateServiceOptions, log: Logger): Promise<Permit | undefined> {
  const deadline = AbortSignal.timeout(options.authenticateTimeoutMs ?? 5000);
  const signal = AbortSignal.any([call.signal, deadline]);
  const refused = (what: string) => (error: unknown) => {
    log.warn(what, { cause: FairleadError.from(error).message, client: call.peer.address });
    return undefined;
  };
  return (
    (await byCertificate(call, options, signal).catch(refused("a certificate may not renew itself"))) ??
    (await byToken(call, options, signal).catch(refused("a token was not accepted")))
  );
}

/** The new one lives no longer than the one shown, and so no longer than what the token once gave. */
async function byCertificate(
  { peer }: Call,
  { stillThere, acceptsPeer }: CertificateServiceOptions,
  signal: AbortSignal,
): Promise<Permit | undefined> {
  const [uri, ...others] = peer.tls?.uris ?? [];
  const identity = uri !== undefined && others.length === 0 ? parseIdentity(uri) : undefined;
  const certificate = peer.tls?.certificate;
  if (!identity || !certificate) return undefined;
  if (!acceptsPeer(identity, certificate))
    throw new FairleadError(
      "forbidden",
      `the certificate of ${formatIdentity(identity)} is revoked, or of another mesh`,
    );
  const binding = bindingOf(certificate);
  if (!(await Promise.race([stillThere(identity, binding, signal), rejectOn(signal)])))
    throw new FairleadError("forbidden", `the account or Pod of ${formatIdentity(identity)} is gone`);
  return { identity, binding, maxLifeMs: Math.max(0, lifeMs(certificate)) };
}

async function byToken(
  call: Call,
  options: CertificateServiceOptions,
  signal: AbortSignal,
): Promise<Permit | undefined> {
  const token = bearerToken(call.metadata("authorization"));
  if (token === undefined) return undefined;
  return await Promise.race([options.authenticate(token, signal), rejectOn(signal)]);
}

/** Three parts of base64url, nothing else: whatever is no token does not reach the judge of tokens. */
function bearerToken(header: string | undefined): string | undefined {
  if (header === undefined || header.length > maxTokenBytes) return undefined;
  return /^bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(header)?.[1];
}

function issue(
  request: IstioCertificateRequest,
  { identity, ...terms }: Permit,
  call: Call,
  options: CertificateServiceOptions,
  log: Logger,
): IstioCertificateResponse {
  try {
    const ttlMs = Number(request.validityDuration) * 1000;
    const signer = options.authority.bundle();
    const { certificate, chain, roots } = options.authority.sign(request.csr, identity, ttlMs, terms);
    options.metrics.count("citadel_server_success_cert_issuance_count");
    options.issuances?.note(identity, terms.binding, addressOf(call.peer.address), {
      signer: signer.certificate.fingerprint256,
      roots: rootsId(signer.roots),
      until: certificate.validToDate,
    });
    log.info("certificate issued", {
      identity: formatIdentity(identity),
      serial: certificate.serialNumber,
      until: certificate.validToDate.toISOString(),
      client: call.peer.address,
    });
    return create(IstioCertificateResponseSchema, { certChain: [...chain, roots] });
  } catch (error) {
    const known = FairleadError.from(error);
    const byCaller = known.code === "invalid" || known.code === "too-large";
    options.metrics.count(byCaller ? "citadel_server_csr_parsing_err_count" : "citadel_server_csr_sign_err_count");
    log.warn("certificate not issued", {
      identity: formatIdentity(identity),
      cause: known.message,
      client: call.peer.address,
    });
    throw new RpcError(byCaller ? status.invalidArgument : status.internal, "CSR signing error");
  }
}

/** Without the port. */
function addressOf(peer: string): string {
  return peer.replace(/:\d+$/, "");
}

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
