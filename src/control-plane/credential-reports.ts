/**
 * Credentials that proxies are given from Secrets and ConfigMaps in; what is wrong with them told, out: counted as istiod
 * counts it, once in the log and as an Event of the object for each change for the worse, and as gauges. Time alone makes
 * a certificate expire, so those in use are looked at again and again.
 */
import type { Collection, Graph } from "../collections/index.ts";
import type { EventRecorder } from "../kube/index.ts";
import type { Logger } from "../lib/index.ts";
import type { CredentialRead } from "../mesh/index.ts";
import { configMapCa, credentialState, type KubeObject, secretCa, secretKeyPair } from "../model/index.ts";
import type { Metrics } from "../ops/index.ts";

export interface CredentialReportsOptions {
  readonly graph: Graph;
  readonly secrets: Collection<KubeObject>;
  readonly configMaps: Collection<KubeObject>;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
  readonly now: () => Date;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** How often those in use are looked at again. */
  readonly lookMs?: number;
}

const states = ["good", "expiring", "expired", "broken", "missing"] as const;
type State = (typeof states)[number];
interface Found {
  readonly state: State;
  /** Empty where nothing is wrong. */
  readonly cause: string;
  readonly until: Date | undefined;
}

/** Without what was found: keys are not kept in one more place. */
type Use = Omit<CredentialRead, "found">;

interface Used {
  readonly use: Use;
  found: Found;
}

const hourMs = 3_600_000;
const counter = "pilot_sds_certificate_errors_total";
const reasons: Readonly<Record<State, string>> = {
  ...{ good: "", missing: "" },
  ...{ expiring: "CertificateExpiring", expired: "CertificateExpired", broken: "InvalidCertificate" },
};

/** Returns whom to tell of each credential that is read for a proxy. */
export function reportCredentials(options: CredentialReportsOptions): (read: CredentialRead) => void {
  const { graph, metrics, now, signal } = options;
  const used = new Map<string, Used>();
  // There from the start, so that none can be told from not counted.
  metrics.count(counter, {}, 0);

  const objectsOf = ({ object }: Use): Collection<KubeObject> =>
    object === "Secret" ? options.secrets : options.configMaps;
  const judge = (found: CredentialRead["found"]): Found => {
    if (!found) return { state: "missing", cause: " is not there, or has not what is asked of it", until: undefined };
    const state = credentialState(found, now());
    const soon = state.state === "expiring" ? ` has a certificate that expires at ${state.until.toISOString()}` : "";
    return { state: state.state, cause: "cause" in state ? `: ${state.cause}` : soon, until: state.until };
  };
  const note = (use: Use, found: Found): void => {
    const id = `${use.object}/${use.key}/${use.part}`;
    const before = used.get(id)?.found;
    used.set(id, { use, found });
    if (found.state !== before?.state && found.cause !== "") tell(options, use, found, objectsOf(use).get(use.key));
  };
  /** What nobody is given any longer is no trouble of anybody's. */
  const lookAgain = (): readonly Found[] => {
    for (const [id, { use }] of used) {
      const objects = objectsOf(use);
      if ([...graph.dependents(objects, use.key)].length === 0) used.delete(id);
      else note(use, judge(contentOf(use, objects.get(use.key))));
    }
    return [...used.values()].map(({ found }) => found);
  };
  const timer = setInterval(lookAgain, options.lookMs ?? hourMs).unref();
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  metrics.onScrape(() => {
    const all = lookAgain();
    for (const state of states)
      metrics.set("fairlead_credentials", all.filter((one) => one.state === state).length, { state });
    const ends = all.flatMap(({ until }) => (until ? [until.getTime()] : []));
    if (ends.length > 0)
      metrics.set("fairlead_credential_expiry_seconds", (Math.min(...ends) - now().getTime()) / 1000);
  });
  return ({ found, ...use }) => {
    const judged = judge(found);
    if (judged.state !== "good" && judged.state !== "expiring") metrics.count(counter);
    note(use, judged);
  };
}

function contentOf({ object, part }: Use, content: KubeObject | undefined): CredentialRead["found"] {
  if (!content) return undefined;
  if (object === "ConfigMap") return configMapCa(content);
  return part === "ca" ? secretCa(content) : secretKeyPair(content);
}

function tell(
  { recorder, log }: CredentialReportsOptions,
  { object, key }: Use,
  { state, cause }: Found,
  about: KubeObject | undefined,
): void {
  const message = `${object} ${key}${cause}`;
  log.warn(`${message}; proxies are to use it for TLS`);
  if (about && reasons[state] !== "") recorder.record(about, "Warning", reasons[state], message);
}
