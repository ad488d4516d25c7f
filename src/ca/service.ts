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
import { auditIssuance } from "./audit.ts";
import type { Terms } from "./authority.ts";
import { type AuthorizeNode, authorizeIssuance } from "./authorize.ts";
import { type Binding, bindingOf, lifeMs } from "./binding.ts";
import type { CaMetrics, SigningFault } from "./metrics.ts";
import type { Claimant, RateLimit } from "./rate-limit.ts";
import type { WorkloadSigner } from "./workload-signer.ts";

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
  readonly signer: WorkloadSigner;
  readonly authenticate: AuthenticateToken;
  /** Asked before a certificate renews itself: deleting an account or a Pod is how it is revoked. */
  readonly stillThere: StillThere;
  /** Whether a verified certificate is one to go by: of our trust domain, and not revoked. */
  readonly acceptsPeer: AcceptsPeer;
  readonly authorizeNode?: AuthorizeNode;
  readonly rateLimit: RateLimit;
  readonly metrics: CaMetrics;
  readonly log: Logger;
  /** How long the judge of tokens may take. */
  readonly authenticateTimeoutMs?: number;
  /** How many calls are served at the same time; more are told at once to come back. */
  readonly maxUnderWay?: number;
}

/** Half a second's work: a queue that outlasts the judge's time would serve nobody. */
const usualUnderWay = 250;

/** Service-account tokens have about 1 KB. */
const maxTokenBytes = 16 * 1024;

/** A request has some ten; it is decoded before it is known who has sent it. */
const maxParts = 1000;

/** Whom a certificate is for, and on what terms. */
interface Permit extends Terms {
  readonly identity: Identity;
}

export function createCertificateService(options: CertificateServiceOptions): Route {
  const log = options.log.scope("ca");
  const { metrics, maxUnderWay = usualUnderWay } = options;
  const tooMany = (): RpcError => new RpcError(status.resourceExhausted, "too many certificate requests");
  let underWay = 0;
  return unary(protoMethod(IstioCertificateService.method.createCertificate, maxParts), async (request, call) => {
    metrics.count("citadel_server_csr_count");
    if (underWay >= maxUnderWay) throw tooMany();
    underWay++;
    try {
      const permit = await permitOf(request, call, options, log);
      if (!options.rateLimit.take(claimantOf(permit, call))) throw tooMany();
      return await issue(request, permit, call, options, log);
    } finally {
      underWay--;
    }
  });
}

function claimantOf({ identity, binding }: Permit, { peer }: Call): Claimant {
  return { account: formatIdentity(identity), holder: binding?.pod?.uid ?? addressOf(peer.address) };
}

async function permitOf(
  request: IstioCertificateRequest,
  call: Call,
  options: CertificateServiceOptions,
  log: Logger,
): Promise<Permit> {
  const caller = await authenticate(call, options, log);
  const impersonated = textOf(request, "ImpersonatedIdentity");
  const issuance = caller
    ? authorizeIssuance({ caller: caller.identity, impersonated }, options.authorizeNode)
    : { refused: "not authenticated" };
  // What a node agent is bound to says nothing of the workload that it asks for.
  if (caller && "identity" in issuance)
    return impersonated === "" ? caller : { identity: issuance.identity, maxLifeMs: caller.maxLifeMs };
  options.metrics.count("citadel_server_authentication_failure_count");
  if (caller && "refused" in issuance) {
    if (issuance.isMalformed) options.metrics.count("citadel_server_id_extraction_err_count");
    log.warn("issuance refused", {
      caller: formatIdentity(caller.identity),
      cause: issuance.refused,
      client: call.peer.address,
    });
  }
  throw new RpcError(status.unauthenticated, "request authenticate failure");
}

/** What agents ask for beside the CSR, by the names that Istio's agents use. */
function textOf(request: IstioCertificateRequest, name: "ImpersonatedIdentity" | "CertSigner"): string {
  const asked = request.metadata?.[name];
  return typeof asked === "string" ? asked : "";
}

/** As in Istio a verified client certificate goes first, then the token. */
async function authenticate(call: Call, options: CertificateServiceOptions, log: Logger): Promise<Permit | undefined> {
  const deadline = deadlineOf(call.signal, options.authenticateTimeoutMs ?? 5000);
  const { signal } = deadline;
  const refused = (what: string) => (error: unknown) => {
    log.warn(what, { cause: FairleadError.from(error).message, client: call.peer.address });
    return undefined;
  };
  try {
    return (
      (await byCertificate(call, options, signal).catch(refused("a certificate may not renew itself"))) ??
      (await byToken(call, options, signal).catch(refused("a token was not accepted")))
    );
  } finally {
    deadline.clear();
  }
}

/** The new one lives no longer than the one shown, and so no longer than what the token once gave. */
async function byCertificate(
  { peer }: Call,
  { stillThere, acceptsPeer, metrics }: CertificateServiceOptions,
  signal: AbortSignal,
): Promise<Permit | undefined> {
  const certificate = peer.tls?.verified === true ? peer.tls.certificate : undefined;
  if (!certificate) return undefined;
  const [uri, ...others] = peer.tls?.uris ?? [];
  const identity = uri !== undefined && others.length === 0 ? parseIdentity(uri) : undefined;
  if (!identity) {
    metrics.count("citadel_server_id_extraction_err_count");
    return undefined;
  }
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

async function issue(
  request: IstioCertificateRequest,
  { identity, ...terms }: Permit,
  call: Call,
  options: CertificateServiceOptions,
  log: Logger,
): Promise<IstioCertificateResponse> {
  const { signer, metrics } = options;
  const client = call.peer.address;
  const refuse = (fault: SigningFault, error: unknown): RpcError => {
    metrics.count("citadel_server_csr_sign_err_count", { error: fault });
    if (fault === "CSR_ERROR") metrics.count("citadel_server_csr_parsing_err_count");
    const cause = FairleadError.from(error).message;
    log.warn("certificate not issued", { identity: formatIdentity(identity), cause, client });
    const byCaller = fault === "CSR_ERROR" || fault === "TTL_ERROR";
    return new RpcError(byCaller ? status.invalidArgument : status.internal, "CSR signing error");
  };
  const askedMs = Number(request.validityDuration) * 1000;
  try {
    signer.lifetime(askedMs);
  } catch (error) {
    throw refuse("TTL_ERROR", error);
  }
  try {
    const order = { csr: request.csr, identity, askedMs, terms, address: addressOf(client) };
    const certSigner = textOf(request, "CertSigner");
    const { certificate, chain, roots } = await signer.sign({ ...order, certSigner }, call.signal);
    metrics.count("citadel_server_success_cert_issuance_count");
    auditIssuance(options.log, { identity: formatIdentity(identity), certificate, client });
    return create(IstioCertificateResponseSchema, { certChain: [...chain, roots] });
  } catch (error) {
    throw refuse(faultOf(error), error);
  }
}

function faultOf(error: unknown): SigningFault {
  const { code } = FairleadError.from(error);
  if (code === "invalid" || code === "too-large") return "CSR_ERROR";
  return code === "unavailable" ? "CA_NOT_READY" : "CERT_GEN_ERROR";
}

/** Without the port. */
function addressOf(peer: string): string {
  return peer.replace(/:\d+$/, "");
}

/**
 * Aborts with the signal, or when the time is over. Unlike those that `AbortSignal` makes of a time and of several signals it
 * can be cleared: hundreds a second, each kept until its time is over, cost more than the signing.
 */
function deadlineOf(outer: AbortSignal, ms: number): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController();
  const stop = (): void => controller.abort(outer.reason);
  const late = (): void => controller.abort(new FairleadError("timeout", `no answer within ${ms} ms`));
  const timer = setTimeout(late, ms);
  if (outer.aborted) stop();
  else outer.addEventListener("abort", stop, { once: true });
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer);
      outer.removeEventListener("abort", stop);
    },
  };
}

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
