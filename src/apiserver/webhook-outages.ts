/** Answers and failures of webhooks in; one line of the log when one falls silent, and one when it answers again, out. */
import { dropOldest, type Logger } from "../lib/index.ts";

export interface WebhookOutages {
  failed(webhook: string, why: string): void;
  answered(webhook: string): void;
}

/** Nobody is told of the end of those that were silent before more than this many others. */
const maxSilent = 1_000;

/** While a control plane is down each write of every controller fails: a line for each would be all that the log has. */
export function createWebhookOutages(log: Logger): WebhookOutages {
  /** How many calls failed since each fell silent. */
  const silent = new Map<string, number>();
  return {
    failed(webhook, why) {
      const before = silent.get(webhook);
      if (before === undefined)
        log.warn(`webhook ${webhook} cannot be asked: ${why}; further failures are counted until it answers`);
      silent.set(webhook, (before ?? 0) + 1);
      dropOldest(silent, maxSilent);
    },
    answered(webhook) {
      const failures = silent.get(webhook);
      if (failures === undefined) return;
      silent.delete(webhook);
      log.info(`webhook ${webhook} answers again`, { failures });
    },
  };
}
