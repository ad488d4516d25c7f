/** The kinds and subresources that are questions, not objects: reviews of access and tokens, tokens, evictions. A body in, the answer out. */
import { objectKey } from "../model/index.ts";
import { at, type Fields, listAt, numberAt, recordAt, textAt, textsAt } from "./access.ts";
import type { WriteContext } from "./context.ts";
import { type FieldError, failure, invalid, notFound } from "./failure.ts";
import { apiVersionOf } from "./kind.ts";
import { timestamp } from "./metadata.ts";
import type { Action, Rule } from "./rules.ts";
import { apiAudience, askedAudiences, type BoundObject, type Tokens } from "./tokens.ts";
import type { User } from "./user.ts";

export type Review = (context: WriteContext, tokens: Tokens, body: Fields) => Promise<unknown> | unknown;

const reviews: ReadonlyMap<string, Review> = new Map<string, Review>([
  ["SubjectAccessReview", (c, _t, body) => accessReview(c, body, namedUser(body), userErrors(body))],
  [
    "LocalSubjectAccessReview",
    (c, _t, body) => accessReview(c, body, namedUser(body), [...userErrors(body), ...localErrors(c, body)]),
  ],
  ["SelfSubjectAccessReview", (c, _t, body) => accessReview(c, body, c.user, [])],
  ["SelfSubjectRulesReview", rulesReview],
  ["SelfSubjectReview", (c, _t, body) => answer(c, body, { userInfo: userInfo(c.user) })],
  ["TokenReview", tokenReview],
]);

export function reviewOf(kind: string): Review | undefined {
  return reviews.get(kind);
}

function answer(context: WriteContext, body: Fields, status: unknown): unknown {
  const { kind } = context.request;
  return {
    kind: kind.kind,
    apiVersion: apiVersionOf(kind),
    metadata: { creationTimestamp: null, ...recordAt(body, "metadata") },
    ...("spec" in body ? { spec: body.spec } : {}),
    status,
  };
}

function accessReview(context: WriteContext, body: Fields, user: User, errors: readonly FieldError[]): unknown {
  const action = actionOf(body);
  const all = action ? errors : [...errors, ofNothing];
  if (!action || all.length > 0) throw invalid(context.request.kind, "", all);
  const verdict = context.authorizer.authorize(user, action);
  return answer(context, body, {
    allowed: verdict.allowed,
    ...(verdict.reason === "" ? {} : { reason: verdict.reason }),
  });
}

const ofNothing: FieldError = {
  path: "spec.resourceAttributes",
  reason: "FieldValueInvalid",
  message: "Invalid value: exactly one of nonResourceAttributes or resourceAttributes must be specified",
};

function userErrors(body: Fields): readonly FieldError[] {
  const someone = textAt(body, "spec", "user") !== "" || textsAt(body, "spec", "groups").length > 0;
  return someone
    ? []
    : [
        {
          path: "spec.user",
          reason: "FieldValueInvalid",
          message: 'Invalid value: "": at least one of user or group must be specified',
        },
      ];
}

/** A local review is of its own namespace, so that the right to ask can be given for one. */
function localErrors(context: WriteContext, body: Fields): readonly FieldError[] {
  const asked = textAt(body, "spec", "resourceAttributes", "namespace");
  if (asked === context.request.namespace) return [];
  return [
    {
      path: "spec.resourceAttributes.namespace",
      reason: "FieldValueInvalid",
      message: `Invalid value: ${JSON.stringify(asked)}: must match metadata.namespace`,
    },
  ];
}

function actionOf(body: Fields): Action | undefined {
  const path = at(body, "spec", "nonResourceAttributes");
  const asked = at(body, "spec", "resourceAttributes");
  if ((path === undefined) === (asked === undefined)) return undefined;
  if (path !== undefined) return { verb: textAt(path, "verb"), path: textAt(path, "path") };
  return {
    verb: textAt(asked, "verb"),
    group: textAt(asked, "group"),
    resource: textAt(asked, "resource"),
    subresource: textAt(asked, "subresource"),
    namespace: textAt(asked, "namespace"),
    name: textAt(asked, "name"),
  };
}

function namedUser(body: Fields): User {
  const groups = textsAt(body, "spec", "groups");
  return { name: textAt(body, "spec", "user"), uid: textAt(body, "spec", "uid"), groups, extra: {} };
}

function rulesReview(context: WriteContext, _tokens: Tokens, body: Fields): unknown {
  const namespace = textAt(body, "spec", "namespace");
  if (namespace === "") throw failure("BadRequest", "no namespace on request");
  const rules = context.authorizer.rulesFor(context.user, namespace);
  const named = (rule: Rule) => (rule.resourceNames.length === 0 ? {} : { resourceNames: rule.resourceNames });
  return answer(context, body, {
    resourceRules: rules
      .filter((r) => r.resources.length > 0)
      .map((r) => ({ verbs: r.verbs, apiGroups: r.apiGroups, resources: r.resources, ...named(r) })),
    nonResourceRules: rules
      .filter((r) => r.nonResourceURLs.length > 0)
      .map((r) => ({ verbs: r.verbs, nonResourceURLs: r.nonResourceURLs })),
    incomplete: false,
  });
}

async function tokenReview(context: WriteContext, tokens: Tokens, body: Fields): Promise<unknown> {
  const asked = textsAt(body, "spec", "audiences");
  const verified = await tokens.verify(textAt(body, "spec", "token"), asked.length === 0 ? [apiAudience] : asked);
  if ("error" in verified) return answer(context, body, { authenticated: false, user: {}, error: verified.error });
  return answer(context, body, { authenticated: true, user: userInfo(verified.user), audiences: verified.audiences });
}

function userInfo(user: User): unknown {
  return {
    username: user.name,
    ...(user.uid === "" ? {} : { uid: user.uid }),
    groups: user.groups,
    ...(Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
  };
}

/** POST …/serviceaccounts/NAME/token. */
export async function createToken(context: WriteContext, tokens: Tokens, body: Fields): Promise<unknown> {
  const { name = "", namespace = "", kind } = context.request;
  const account = context.store.get("/serviceaccounts", objectKey({ name, namespace }));
  if (!account) throw notFound(kind, name);
  const spec = recordAt(body, "spec");
  const audiences = askedAudiences(spec);
  const seconds = numberAt(spec, "expirationSeconds") ?? 3600;
  if (seconds < 600 || seconds > 2 ** 32)
    throw failure(
      "Invalid",
      `TokenRequest.authentication.k8s.io "${name}" is invalid: spec.expirationSeconds: Invalid value: ${seconds}: may not specify a duration less than 10 minutes or more than 2^32 seconds`,
    );
  const bound = boundObject(context, namespace, at(spec, "boundObjectRef"));
  const issued = await tokens.issue({
    namespace,
    name,
    uid: account.metadata.uid ?? "",
    audiences,
    expirationSeconds: Math.floor(seconds),
    bound,
  });
  return {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name, namespace, creationTimestamp: timestamp(context.now()) },
    spec: { ...spec, audiences, expirationSeconds: seconds },
    status: { token: issued.token, expirationTimestamp: timestamp(issued.expires) },
  };
}

function boundObject(context: WriteContext, namespace: string, ref: unknown): BoundObject | undefined {
  const [kind, name, uid] = [textAt(ref, "kind"), textAt(ref, "name"), textAt(ref, "uid")];
  if (kind === "") return undefined;
  if (kind !== "Pod" && kind !== "Secret")
    throw failure("BadRequest", `cannot bind token for serviceaccount to object of type ${kind}`);
  const plural = kind === "Pod" ? "pods" : "secrets";
  const found = context.store.get(`/${plural}`, objectKey({ name, namespace }));
  if (!found?.metadata.uid) throw notFound({ group: "", plural, kind }, name);
  const account = context.request.name ?? "";
  if (kind === "Pod" && (textAt(found, "spec", "serviceAccountName") || "default") !== account)
    throw failure(
      "BadRequest",
      `cannot bind token for serviceaccount "${account}" to pod running with different serviceaccount name.`,
    );
  if (uid !== "" && uid !== found.metadata.uid)
    throw failure(
      "Conflict",
      `Operation cannot be fulfilled on ${plural} "${name}": the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  return { kind, name, uid: found.metadata.uid };
}

/** PUT …/namespaces/NAME/finalize: only the finalizers of the spec change. */
export function finalizersOf(body: unknown): readonly unknown[] {
  return listAt(body, "spec", "finalizers");
}
