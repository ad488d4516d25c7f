/** Questions about tokens and permissions in, the API's verdicts out. */
import { FairleadError, isRecord } from "../lib/index.ts";
import type { KubeClient } from "./client.ts";
import { kubeKinds } from "./kinds.ts";

export interface TokenVerdict {
  readonly authenticated: boolean;
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
  readonly audiences: readonly string[];
  readonly error: string;
  /** Name and uid of the Pod that the token is bound to, where it is. */
  readonly pod: { readonly name: string; readonly uid: string } | undefined;
}

export interface AccessQuestion {
  readonly user: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  /** What else the API knows of the user; some who decide want it. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

export interface TokenOrder {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly audiences: readonly string[];
  readonly expirationSeconds?: number;
  readonly boundPod?: { readonly name: string; readonly uid: string };
}

export async function reviewToken(
  client: KubeClient,
  token: string,
  audiences: readonly string[],
): Promise<TokenVerdict> {
  const answer = await client.raw("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token, ...(audiences.length === 0 ? {} : { audiences }) },
  });
  const status = record(record(answer).status);
  const user = record(status.user);
  const extra = record(user.extra);
  const [podName] = strings(extra["authentication.kubernetes.io/pod-name"]);
  const [podUid] = strings(extra["authentication.kubernetes.io/pod-uid"]);
  return {
    authenticated: status.authenticated === true,
    username: text(user.username),
    uid: text(user.uid),
    groups: strings(user.groups),
    extra: Object.fromEntries(Object.entries(extra).map(([name, list]) => [name, strings(list)])),
    audiences: strings(status.audiences),
    error: text(status.error),
    pod: podName === undefined || podUid === undefined ? undefined : { name: podName, uid: podUid },
  };
}

export async function reviewAccess(client: KubeClient, question: AccessQuestion): Promise<boolean> {
  const { user, uid, groups, extra, ...resourceAttributes } = question;
  const answer = await client.raw("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, ...(uid ? { uid } : {}), groups: groups ?? [], ...(extra ? { extra } : {}), resourceAttributes },
  });
  return record(record(answer).status).allowed === true;
}

export async function requestToken(client: KubeClient, order: TokenOrder): Promise<{ token: string; expires: Date }> {
  const answer = await client.createSubresource(
    kubeKinds.serviceAccounts,
    { name: order.serviceAccount, namespace: order.namespace },
    "token",
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        audiences: order.audiences,
        ...(order.expirationSeconds === undefined ? {} : { expirationSeconds: order.expirationSeconds }),
        ...(order.boundPod === undefined
          ? {}
          : { boundObjectRef: { apiVersion: "v1", kind: "Pod", ...order.boundPod } }),
      },
    },
  );
  const status = record(record(answer).status);
  const token = text(status.token);
  if (token === "")
    throw new FairleadError(
      "internal",
      `the API gave no token for ServiceAccount ${order.namespace}/${order.serviceAccount}`,
    );
  return { token, expires: new Date(text(status.expirationTimestamp)) };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((v) => typeof v === "string") : [];
}
