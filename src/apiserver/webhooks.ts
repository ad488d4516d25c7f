/** The webhook configurations in the store as admission: which webhooks a write concerns, in which order, and what they make of it. */
import type { Logger } from "../lib/index.ts";
import type { Admission } from "./admission.ts";
import type { Store } from "./store.ts";

/** Where `namespace/name:port` is reached, if anywhere. */
export type ServiceResolver = (service: {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}) => { readonly host: string; readonly port: number } | undefined;

export interface WebhookOptions {
  readonly store: Store;
  readonly now: () => Date;
  readonly log: Logger;
  readonly resolveService?: ServiceResolver;
}

export function createWebhooks(_options: WebhookOptions): Admission {
  return { mutate: async ({ object }) => object, validate: async () => {} };
}
