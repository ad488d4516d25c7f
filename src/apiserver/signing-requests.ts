/**
 * CertificateSigningRequests: what of them the API sets, keeps and checks. It signs nothing: whoever may approve says yes,
 * whoever may sign for the named signer writes the certificate, and nobody else writes either.
 */
import type { KubeObject } from "../model/index.ts";
import { at, type Fields, listAt, numberAt, recordAt, textAt } from "./access.ts";
import type { WriteContext } from "./context.ts";
import { equalJson } from "./equal.ts";
import { type FieldError, failure } from "./failure.ts";
import type { ApiKind } from "./kind.ts";
import { prepareStatus, prepareUpdate } from "./metadata.ts";
import type { User } from "./user.ts";

const group = "certificates.k8s.io";
const approval = "approval";
const verdicts: ReadonlySet<string> = new Set(["Approved", "Denied"]);
/** Kubernetes' own limit. */
const minSeconds = 600;
const signerPath = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

function isSigningRequest(kind: ApiKind): boolean {
  return kind.group === group && kind.kind === "CertificateSigningRequest";
}

/** Who asks is what the API knows of the caller, whatever the caller wrote. */
export function withRequester(kind: ApiKind, object: KubeObject, user: User): KubeObject {
  if (!isSigningRequest(kind)) return object;
  const { username: _n, uid: _u, groups: _g, extra: _e, ...spec } = recordAt(object, "spec");
  const who = { username: user.name, ...(user.uid === "" ? {} : { uid: user.uid }), groups: [...user.groups] };
  return {
    ...object,
    spec: { ...spec, ...who, ...(Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }) },
  };
}

/** How a change of one is made ready; undefined for other kinds. */
export function signingRequestRule(kind: ApiKind, subresource: string | undefined): typeof prepareUpdate | undefined {
  if (!isSigningRequest(kind)) return undefined;
  // The spec never changes.
  if (subresource === undefined)
    return (of, next, before) => ({ ...prepareUpdate(of, next, before), spec: before.spec });
  return (of, next, before) => prepareStatus(of, { ...next, status: statusOf(subresource, next, before) }, before);
}

/** The verdict changes through `…/approval` alone, all else of the status through `…/status`. */
function statusOf(subresource: string, next: KubeObject, before: KubeObject): Fields {
  const [asked, had] = [recordAt(next, "status"), recordAt(before, "status")];
  const [judged, observed] = subresource === approval ? [asked, had] : [had, asked];
  const { conditions: _, ...rest } = observed;
  const conditions = [
    ...conditionsOf(judged).filter(isVerdict),
    ...conditionsOf(observed).filter((one) => !isVerdict(one)),
  ];
  return { ...rest, ...(conditions.length === 0 ? {} : { conditions }) };
}

const conditionsOf = (status: Fields): readonly unknown[] => listAt(status, "conditions");
const isVerdict = (condition: unknown): boolean => verdicts.has(textAt(condition, "type"));

/** To approve and to sign are rights on the signer that the request names, by its name or as all of its domain. */
export function requireSignerRight(context: WriteContext, object: KubeObject, before: KubeObject | undefined): void {
  const { request, user, authorizer } = context;
  if (!isSigningRequest(request.kind) || !before) return;
  const signer = textAt(object, "spec", "signerName");
  const isSigned = !equalJson(at(object, "status", "certificate"), at(before, "status", "certificate"));
  const verb = request.subresource === approval ? "approve" : isSigned ? "sign" : undefined;
  if (verb === undefined) return;
  const may = (name: string): boolean =>
    authorizer.authorize(user, { verb, group, resource: "signers", subresource: "", namespace: "", name }).allowed;
  if (may(signer) || may(`${signer.split("/")[0]}/*`)) return;
  throw failure(
    "Forbidden",
    `certificatesigningrequests.${group} "${object.metadata.name}" is forbidden: user not permitted to ${verb} requests with signerName ${JSON.stringify(signer)}`,
    { name: object.metadata.name, group, kind: "certificatesigningrequests" },
  );
}

export function signingRequestErrors(object: KubeObject): readonly FieldError[] {
  const spec = recordAt(object, "spec");
  const wrong = (path: string, value: unknown, why: string): FieldError => ({
    path,
    reason: "FieldValueInvalid",
    message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
  });
  const missing = (path: string): FieldError => ({ path, reason: "FieldValueRequired", message: "Required value" });
  const seconds = numberAt(spec, "expirationSeconds");
  const signer = textAt(spec, "signerName");
  const pem = Buffer.from(textAt(spec, "request"), "base64").toString("latin1");
  const types = conditionsOf(recordAt(object, "status")).map((condition) => textAt(condition, "type"));
  return [
    ...(pem.startsWith("-----BEGIN CERTIFICATE REQUEST-----")
      ? []
      : [wrong("spec.request", "", "PEM block type must be CERTIFICATE REQUEST")]),
    ...(signer === "" ? [missing("spec.signerName")] : []),
    ...(signer === "" || (signer.length <= 571 && signerPath.test(signer))
      ? []
      : [wrong("spec.signerName", signer, 'must be a fully qualified domain and path of the form "example.com/name"')]),
    ...(listAt(spec, "usages").length === 0 ? [missing("spec.usages")] : []),
    ...(seconds === undefined || seconds >= minSeconds
      ? []
      : [wrong("spec.expirationSeconds", seconds, "may not specify a duration less than 600 seconds (10 minutes)")]),
    ...(types.includes("Approved") && types.includes("Denied")
      ? [wrong("status.conditions", "Denied", "Approved and Denied conditions are mutually exclusive")]
      : []),
  ];
}
