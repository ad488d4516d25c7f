/** The webhook configurations in the store as admission: which webhooks a write concerns, in which order, and what they make of it. */
import { randomUUID } from "node:crypto";
import { isRecord, type Logger, parseJson } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { listAt, numberAt, recordAt, textAt, textsAt } from "./access.ts";
import type { Admission, AdmissionRequest } from "./admission.ts";
import { asKind } from "./body.ts";
import { equalJson } from "./equal.ts";
import { failure, unreachable } from "./failure.ts";
import type { ApiKind } from "./kind.ts";
import type { KindRegistry } from "./kind-registry.ts";
import { applyJsonPatch } from "./patch-json.ts";
import { represent } from "./represent.ts";
import { serviceEndpoints } from "./service-endpoints.ts";
import type { Store } from "./store.ts";
import { createWebhookClient, type ServiceResolver } from "./webhook-call.ts";
import { conditionsHold } from "./webhook-conditions.ts";
import { concernedKind } from "./webhook-match.ts";
import { createWebhookOutages } from "./webhook-outages.ts";

export interface WebhookOptions {
  readonly store: Store;
  readonly registry: KindRegistry;
  readonly log: Logger;
  readonly resolveService?: ServiceResolver;
}

interface Concerned {
  readonly name: string;
  readonly webhook: unknown;
  readonly kind: ApiKind;
}

const group = "admissionregistration.k8s.io";

export function createWebhooks(options: WebhookOptions): Admission {
  const client = createWebhookClient(options.resolveService ?? serviceEndpoints(options.store));
  const outages = createWebhookOutages(options.log);
  const concerned = (plural: string, request: AdmissionRequest): readonly Concerned[] =>
    options.store.list(`${group}/${plural}`).flatMap((configuration) =>
      listAt(configuration, "webhooks").flatMap((webhook) => {
        const kind = concernedKind(webhook, request, options.registry, options.store);
        return kind ? [{ name: textAt(webhook, "name"), webhook, kind }] : [];
      }),
    );

  /** Undefined where the webhook is not concerned, or could not be asked and may be ignored. */
  const ask = async ({ name, webhook, kind }: Concerned, request: AdmissionRequest) => {
    const review = reviewOf(kind, request);
    const holds = await conditionsHold(webhook, review);
    if (holds !== true) {
      if (holds === false || textAt(webhook, "failurePolicy") === "Ignore") return undefined;
      throw forbiddenWrite(request, holds.error);
    }
    if (request.dryRun && !textAt(webhook, "sideEffects").startsWith("None"))
      throw failure("BadRequest", `admission webhook "${name}" does not support dry run`);
    try {
      const response = await client.ask(webhook, review);
      outages.answered(name);
      for (const warning of textsAt(response, "warnings")) request.warn(warning);
      return response;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      outages.failed(name, why);
      if (textAt(webhook, "failurePolicy") === "Ignore") {
        request.warn(`webhook "${name}" could not be asked (${why}); not checked, as its failurePolicy is Ignore`);
        return undefined;
      }
      throw unreachable(
        `Internal error occurred: failed calling webhook "${name}": failed to call webhook: ${why}; ` +
          "refused, as its failurePolicy is Fail",
      );
    }
  };

  const mutateBy = async (one: Concerned, request: AdmissionRequest): Promise<KubeObject | undefined> => {
    const response = await ask(one, request);
    if (!response || !request.object) return request.object;
    refuseDenied(one.name, response);
    const patch = textAt(response, "patch");
    if (patch === "") return request.object;
    const operations = parseJson(Buffer.from(patch, "base64").toString());
    return represent(
      request.request.kind,
      asKind(applyJsonPatch(represent(one.kind, request.object), operations), one.kind),
    );
  };

  return {
    async mutate(request) {
      let object = request.object;
      const hooks = concerned("mutatingwebhookconfigurations", request);
      const seen = new Map<Concerned, KubeObject | undefined>();
      for (const one of hooks) {
        object = await mutateBy(one, { ...request, object });
        seen.set(one, object);
      }
      // A webhook that asked for it sees once more what others have changed after it.
      for (const one of hooks.filter((hook) => textAt(hook.webhook, "reinvocationPolicy") === "IfNeeded"))
        if (!equalJson(seen.get(one), object)) object = await mutateBy(one, { ...request, object });
      return object;
    },
    async validate(request) {
      const answers = await Promise.all(
        concerned("validatingwebhookconfigurations", request).map(async (one) => ({
          one,
          response: await ask(one, request),
        })),
      );
      for (const { one, response } of answers) if (response) refuseDenied(one.name, response);
    },
  };
}

function forbiddenWrite({ request: { kind, name }, object }: AdmissionRequest, why: string): Error {
  const shown = name ?? object?.metadata.name ?? "";
  const resource = kind.group === "" ? kind.plural : `${kind.plural}.${kind.group}`;
  return failure("Forbidden", `${resource} "${shown}" is forbidden: ${why}`, { name: shown, kind: kind.plural });
}

function refuseDenied(name: string, response: Readonly<Record<string, unknown>>): void {
  if (response.allowed === true) return;
  const status = recordAt(response, "status");
  const message = textAt(status, "message") || textAt(status, "reason");
  const code = Math.max(400, numberAt(status, "code") ?? 400);
  const text = `admission webhook "${name}" denied the request${message === "" ? " without explanation" : `: ${message}`}`;
  const error = failure(
    code === 403 ? "Forbidden" : code === 422 ? "Invalid" : "BadRequest",
    text,
    isRecord(status.details) ? status.details : undefined,
  );
  throw error;
}

function reviewOf(kind: ApiKind, { operation, request, user, object, before, dryRun }: AdmissionRequest): unknown {
  const names = (k: ApiKind) => ({
    kind: { group: k.group, version: k.version, kind: k.kind },
    resource: { group: k.group, version: k.version, resource: k.plural },
  });
  const asked = names(request.kind);
  const shown = object ?? before;
  return {
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    request: {
      uid: randomUUID(),
      ...names(kind),
      requestKind: asked.kind,
      requestResource: asked.resource,
      ...(request.subresource === undefined
        ? {}
        : { subResource: request.subresource, requestSubResource: request.subresource }),
      name: shown?.metadata.name ?? "",
      ...(request.namespace === undefined ? {} : { namespace: request.namespace }),
      operation,
      userInfo: {
        username: user.name,
        ...(user.uid === "" ? {} : { uid: user.uid }),
        groups: user.groups,
        extra: user.extra,
      },
      object: object ? represent(kind, object) : null,
      oldObject: before ? represent(kind, before) : null,
      dryRun,
      options: {
        kind: `${operation.charAt(0)}${operation.slice(1).toLowerCase()}Options`,
        apiVersion: "meta.k8s.io/v1",
      },
    },
  };
}
