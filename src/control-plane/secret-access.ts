/**
 * Accounts of connected proxies in; whether each may list the Secrets of its namespace, as the API says, out. Unknown
 * means no. The API is asked when a key is first wanted, and again for as long as somebody of that account is connected.
 */
import type { Graph } from "../collections/index.ts";
import { type KubeClient, reviewAccess } from "../kube/index.ts";
import { FairleadError, type Logger } from "../lib/index.ts";
import type { Account } from "../mesh/index.ts";

export interface SecretAccessOptions {
  readonly graph: Graph;
  readonly client: KubeClient;
  /** The cluster whose API is asked; it knows nothing of accounts elsewhere. */
  readonly cluster: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Told once of each account that is given no keys. */
  onDenied?(): void;
  /** How long a yes and a no hold. */
  readonly allowedMs?: number;
  readonly deniedMs?: number;
}

export interface SecretAccess {
  /** Recorded: what was made from a no is made again when it becomes a yes, and the other way round. */
  allows(account: Account): boolean;
  /** Only for accounts that are held the API is asked; until the returned function is called. */
  hold(account: Account): () => void;
}

interface Held {
  count: number;
  asked: boolean;
  wasTold: boolean;
  timer: NodeJS.Timeout | undefined;
}

export function createSecretAccess(options: SecretAccessOptions): SecretAccess {
  const verdicts = options.graph.source<"allowed">("secret access");
  const held = new Map<string, Held>();

  const ask = async (key: string, account: Account, entry: Held): Promise<void> => {
    const allowed = await review(options, account).catch((error: unknown) => {
      options.log.warn(`may ${nameOf(account)} read secrets? ${FairleadError.from(error).message}`);
      // The API out of reach takes nothing away; who had no yes before has none now.
      return verdicts.get(key) === "allowed";
    });
    // Nobody of the account is left, or others came after all had gone: their own question is under way.
    if (held.get(key) !== entry || options.signal.aborted) return;
    if (allowed) verdicts.set(key, "allowed");
    else verdicts.delete(key);
    if (!allowed && !entry.wasTold) {
      options.onDenied?.();
      options.log.warn(
        `${nameOf(account)} may not list Secrets of ${account.namespace}: its proxies are given no keys`,
      );
    }
    entry.wasTold = !allowed;
    const pauseMs = allowed ? (options.allowedMs ?? 300_000) : (options.deniedMs ?? 60_000);
    entry.timer = setTimeout(() => void ask(key, account, entry), pauseMs).unref();
  };

  return {
    allows(account) {
      const key = keyOf(account);
      const entry = held.get(key);
      if (entry && !entry.asked) {
        entry.asked = true;
        void ask(key, account, entry);
      }
      return verdicts.get(key) === "allowed";
    },
    hold(account) {
      if (account.serviceAccount === "" || account.cluster !== options.cluster) return () => {};
      const key = keyOf(account);
      const entry = held.get(key) ?? { count: 0, asked: false, wasTold: false, timer: undefined };
      entry.count++;
      held.set(key, entry);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        if (--entry.count > 0) return;
        clearTimeout(entry.timer);
        held.delete(key);
        verdicts.delete(key);
      };
    },
  };
}

/** JSON, so that no name can run into the next. */
const keyOf = ({ cluster, namespace, serviceAccount }: Account): string =>
  JSON.stringify([cluster, namespace, serviceAccount]);

const nameOf = ({ namespace, serviceAccount }: Account): string =>
  `system:serviceaccount:${namespace}:${serviceAccount}`;

function review(options: SecretAccessOptions, account: Account): Promise<boolean> {
  return reviewAccess(options.client, {
    user: nameOf(account),
    verb: "list",
    group: "",
    resource: "secrets",
    namespace: account.namespace,
  });
}
