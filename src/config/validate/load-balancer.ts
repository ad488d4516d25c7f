/** Load balancing in, what is wrong with it into the report: hashing, locality, zones, warm-up. */
import type {
  LoadBalancerSettings,
  LoadBalancerSettingsConsistentHashLB,
  LocalityLoadBalancerSetting,
  WarmupConfiguration,
  ZoneAwareLoadBalancerSetting,
} from "../../model/index.ts";
import { each, type Report } from "./report.ts";
import { checkDuration } from "./values.ts";

export function checkLoadBalancer(report: Report, settings: LoadBalancerSettings | undefined, outliers: boolean): void {
  if (!settings) return;
  if (settings.consistentHash) checkHash(report.at("consistentHash"), settings.consistentHash);
  if (settings.localityLbSetting && settings.zoneAwareLbSetting)
    report.error("only one of localityLbSetting and zoneAwareLbSetting can be set");
  checkLocality(report.at("localityLbSetting"), settings.localityLbSetting, outliers);
  checkZoneAware(report.at("zoneAwareLbSetting"), settings.zoneAwareLbSetting, outliers);
  if (settings.warmup) checkWarmup(report.at("warmup"), settings.warmup);
}

function checkWarmup(report: Report, warmup: WarmupConfiguration): void {
  if (warmup.duration === undefined) report.error("duration is required");
  checkDuration(report.at("duration"), warmup.duration);
  if ((warmup.minimumPercent ?? 0) > 100)
    report.at("minimumPercent").error("minimumPercent value should be less than or equal to 100");
  if (warmup.aggression !== undefined && warmup.aggression <= 0)
    report.at("aggression").error("aggression should be greater than 0");
}

function checkHash(report: Report, hash: LoadBalancerSettingsConsistentHashLB): void {
  const { httpCookie } = hash;
  if (httpCookie && (httpCookie.name ?? "") === "")
    report.at("httpCookie", "name").error("name required for HttpCookie");
  const seen = new Set<string>();
  each(report.at("httpCookie"), "attributes", httpCookie?.attributes, ({ name = "" }, at) => {
    if (name === "") at.error("cookie attribute name cannot be empty");
    else if (seen.has(name)) at.error(`duplicate cookie attribute name: ${name}`);
    seen.add(name);
  });
  if (hash.minimumRingSize) {
    report.warn("consistent hash MinimumRingSize is deprecated, use ConsistentHashLB's RingHash configuration instead");
    if (hash.ringHash || hash.maglev) report.error("only one of MinimumRingSize or Maglev/Ringhash can be specified");
  }
  if (hash.maglev) checkMaglev(report.at("maglev", "tableSize"), hash.maglev.tableSize ?? 0);
}

function checkMaglev(report: Report, size: number): void {
  if (size === 0) report.error("tableSize must be set for maglev");
  if (size >= 5_000_011) report.error("tableSize must be less than 5000011 for maglev");
  if (!isPrime(size)) report.error("tableSize must be a prime number for maglev");
}

/** Envoy's own test: 1 counts as prime. */
function isPrime(n: number): boolean {
  if (n !== 0 && n < 4) return true;
  if (n % 2 === 0) return false;
  // Past Envoy's bound the size is refused anyway; no need to search for long.
  const limit = Math.min(Math.floor(Math.sqrt(n)), 1_000_000);
  for (let factor = 3; factor <= limit; factor += 2) if (n % factor === 0) return false;
  return true;
}

const topologyLabels: ReadonlySet<string> = new Set([
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
  "topology.istio.io/subzone",
]);

/** `outliers`: without outlier detection nothing fails over. */
export function checkLocality(
  report: Report,
  locality: LocalityLoadBalancerSetting | undefined,
  outliers: boolean,
): void {
  if (!locality) return;
  const { distribute = [], failover = [], failoverPriority = [] } = locality;
  if (distribute.length > 0 && failover.length > 0) {
    report.error("can not simultaneously specify 'distribute' and 'failover'");
    return;
  }
  const topology = failover.length > 0 ? failoverPriority.find((name) => topologyLabels.has(name)) : undefined;
  if (topology !== undefined) {
    report.error(`can not simultaneously set 'failover' and topology label '${topology}' in 'failover_priority'`);
    return;
  }
  if (!checkDistribute(report, distribute)) return;
  checkFailover(
    report,
    failover,
    failoverPriority,
    outliers,
    "locality lb",
    "locality lb failover only specify region",
  );
}

/** False where the weights are wrong: Istio looks no further then. */
function checkDistribute(report: Report, distribute: NonNullable<LocalityLoadBalancerSetting["distribute"]>): boolean {
  for (const [i, { to = {} }] of distribute.entries()) {
    const at = report.at("distribute", i, "to");
    const weights = Object.values(to);
    if (weights.some((weight) => weight <= 0 || weight > 100)) {
      at.error("locality weight must be in range [1, 100]");
      return false;
    }
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    if (total !== 100) {
      at.error(`total locality weight ${total} != 100`);
      return false;
    }
    at.error(localitiesError(Object.keys(to)));
  }
  report.at("distribute").error(localitiesError(distribute.map(({ from = "" }) => from)));
  return true;
}

interface Failover {
  readonly from?: string;
  readonly to?: string;
}

function checkFailover(
  report: Report,
  failover: readonly Failover[],
  priority: readonly string[],
  outliers: boolean,
  what: string,
  regionOnly: string,
): void {
  if ((failover.length > 0 || priority.length > 0) && !outliers)
    report.warn("outlier detection policy must be provided for failover");
  each(report, "failover", failover, ({ from = "", to = "" }, at) => {
    if (from === to) at.error(`${what} failover settings must specify different regions`);
    if (`${from}${to}`.includes("/")) at.error(regionOnly);
    if (`${from}${to}`.includes("*")) at.error(`${what} failover region should not contain '*' wildcard`);
  });
}

export function checkZoneAware(
  report: Report,
  zones: ZoneAwareLoadBalancerSetting | undefined,
  outliers: boolean,
): void {
  if (!zones) return;
  const { failover = [], failoverPriority = [] } = zones;
  each(report, "failoverPriority", failoverPriority, (name, at) => {
    if (topologyLabels.has(name))
      at.error(
        `'failover_priority' for zone aware lb must not use topology label '${name}'; region- and zone-level routing are handled automatically`,
      );
  });
  const regionOnly =
    "zone aware lb failover only specifies region; zone and subzone failover are handled automatically";
  checkFailover(report, failover, failoverPriority, outliers, "zone aware lb", regionOnly);
}

/** Localities (`region/zone/subzone`, a star at the end) must not contain one another. */
function localitiesError(localities: readonly string[]): string | undefined {
  const seen = createLocalities();
  for (const locality of localities) {
    const stars = locality.split("*").length - 1;
    if (stars > 1 || (stars === 1 && !locality.endsWith("*")))
      return `locality ${locality} wildcard '*' number can not exceed 1 and must be in the end`;
    const parts = splitLocality(locality);
    if (!seen.hasAll() && parts.some((part) => part === ""))
      return `locality ${locality} must not contain empty region/zone/subzone info`;
    if (seen.overlaps(parts)) return `locality ${locality} overlap with previous specified ones`;
    seen.add(parts);
  }
  return undefined;
}

function splitLocality(locality: string): readonly string[] {
  const [region = "", zone, ...rest] = locality.split("/");
  return [region, ...(zone === undefined ? [] : [zone]), ...(rest.length === 0 ? [] : [rest.join("/")])];
}

/** A bare region overlaps all of its zones; `region/*` overlaps each zone of the region. One look-up for each part. */
function createLocalities() {
  const whole = new Set<string>();
  const beginnings = new Set<string>();
  /** What stands before a star. */
  const starred = new Set<string>();
  const prefixes = (parts: readonly string[]): readonly string[] =>
    parts.map((_, i) => parts.slice(0, i + 1).join("/"));
  return {
    hasAll: () => starred.has(""),
    overlaps(parts: readonly string[]): boolean {
      const own = prefixes(parts);
      return (
        own.some((prefix) => whole.has(prefix)) ||
        beginnings.has(parts.join("/")) ||
        ["", ...own.slice(0, -1)].some((prefix) => starred.has(prefix))
      );
    },
    add(parts: readonly string[]): void {
      const own = prefixes(parts);
      whole.add(parts.join("/"));
      for (const prefix of own.slice(0, -1)) beginnings.add(prefix);
      for (const [i, part] of parts.entries()) if (part === "*") starred.add(own[i - 1] ?? "");
    },
  };
}
