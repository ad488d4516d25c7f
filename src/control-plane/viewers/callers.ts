/** A bearer in; who that is, as the API says, out. Nobody is believed longer than a moment without being asked about again. */
import { createHash } from "node:crypto";
import { claimName, claimSigner, type KubeClient, kubeKinds, reviewToken, secretOfClaim } from "../../kube/index.ts";
import { createBucket, dropOldest, FairleadError, isRecord, readRecord, readText } from "../../lib/index.ts";

/** As reviews of access take it. */
export interface Caller {
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface CallersOptions {
  readonly client: KubeClient;
  readonly now: () => Date;
  readonly monotonicMs: () => number;
}

const [knownMs, unknownMs] = [30_000, 5_000];
const maxKept = 1000;
const claimMs = 12 * 3_600_000;

export type FindCaller = (bearer: string) => Promise<Caller | undefined>;

interface Kept {
  untilMs: number;
  readonly caller: Promise<Caller | undefined>;
  isSomebody: boolean;
}

export function createCallers(options: CallersOptions): FindCaller {
  const { monotonicMs } = options;
  const kept = new Map<string, Kept>();
  // Bearers that nobody knows cost a question to the API each; those who were somebody are not kept out by them.
  const questions = createBucket(50, 10, monotonicMs);
  return (bearer) => {
    const key = createHash("sha256").update(bearer).digest("base64");
    const known = kept.get(key);
    if (known && known.untilMs > monotonicMs()) return known.caller;
    if (!known?.isSomebody && !questions.take())
      return Promise.reject(new FairleadError("unavailable", "too many sign in at once: try again later"));
    const caller = ask(options, bearer);
    const entry: Kept = { untilMs: monotonicMs() + knownMs, caller, isSomebody: false };
    kept.delete(key);
    kept.set(key, entry);
    dropOldest(kept, maxKept);
    caller.then(
      (found) => {
        entry.isSomebody = found !== undefined;
        if (!found) entry.untilMs = monotonicMs() + unknownMs;
      },
      // What could not be asked is asked again.
      () => {
        if (kept.get(key) === entry) kept.delete(key);
      },
    );
    return caller;
  };
}

async function ask(options: CallersOptions, bearer: string): Promise<Caller | undefined> {
  const secret = secretOfClaim(bearer);
  if (secret !== undefined) return claimedBy(options, secret);
  // No audience: tokens that are good for the API itself.
  const { authenticated, username, uid, groups, extra } = await reviewToken(options.client, bearer, []);
  return authenticated && username !== "" ? { user: username, uid, groups, extra } : undefined;
}

/** The API has written into the claim who made it. */
async function claimedBy({ client, now }: CallersOptions, secret: string): Promise<Caller | undefined> {
  const claim = await client.find(kubeKinds.certificateSigningRequests, { name: claimName(secret) });
  const { signerName, username, uid, groups, extra } = readRecord(claim?.spec);
  const madeMs = Date.parse(claim?.metadata.creationTimestamp ?? "");
  if (!claim || signerName !== claimSigner || !(now().getTime() - madeMs < claimMs)) return undefined;
  if (readText(username) === "") return undefined;
  return { user: readText(username), uid: readText(uid), groups: texts(groups), extra: extraOf(extra) };
}

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];

const extraOf = (value: unknown): Caller["extra"] =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).map(([name, list]) => [name, texts(list)])) : {};
