/** All routes of a mesh, and a host, in; those that lead to the host, with their weights and what else they do, out. */
import {
  type Config,
  type Destination,
  type HTTPFaultInjection,
  type HTTPMatchRequest,
  type HTTPRoute,
  type Percent,
  resolveHost,
  type StringMatch,
  type VirtualServiceSpec,
} from "../../model/index.ts";
import type { Mark, RouteTo } from "../../read-api/index.ts";

type Route = Config<VirtualServiceSpec>;

interface Leads {
  readonly field: string;
  readonly requests: string;
  readonly to: readonly { readonly destination?: Destination; readonly weight?: number }[];
  readonly marks: readonly Pick<Mark, "what" | "says">[];
}

const maxRoutes = 200;

export function routesTo(host: string, routes: Iterable<Route>, domain: string): readonly RouteTo[] {
  const found: RouteTo[] = [];
  for (const route of routes) {
    const { namespace } = route.meta;
    const isHost = (to: Destination | undefined): boolean =>
      to?.host !== undefined && resolveHost(to.host, namespace, domain) === host;
    for (const { to, marks, ...leads } of leadsOf(route)) {
      if (!to.some(({ destination }) => isHost(destination))) continue;
      const targets = to.map(({ destination, weight }) => ({
        name: nameOf(destination, isHost(destination)),
        weight: weight ?? (to.length === 1 ? 100 : 0),
      }));
      found.push({ object: objectOf(route), ...leads, marks: marks.map(({ says }) => says), to: targets });
      if (found.length >= maxRoutes) return found;
    }
  }
  return found;
}

function nameOf({ host = "", subset }: Destination = {}, isOwn: boolean): string {
  if (isOwn && subset !== undefined && subset !== "") return subset;
  return subset === undefined || subset === "" ? host : `${host} ${subset}`;
}

/** Each of its routes, with where it leads and what else it does. */
export function leadsOf({ spec }: Route): readonly Leads[] {
  return [
    ...(spec.http ?? []).map((one, i) => ({
      field: `spec.http[${i}]`,
      requests: (one.match ?? []).map(matchWords).join(" or ") || "all",
      to: one.route ?? [],
      marks: httpMarks(one),
    })),
    ...(spec.tls ?? []).map((one, i) => ({
      field: `spec.tls[${i}]`,
      requests: `TLS for ${(one.match ?? []).flatMap(({ sniHosts = [] }) => sniHosts).join(", ") || "any name"}`,
      to: one.route ?? [],
      marks: [],
    })),
    ...(spec.tcp ?? []).map((one, i) => ({
      field: `spec.tcp[${i}]`,
      requests: "connections",
      to: one.route ?? [],
      marks: [],
    })),
  ];
}

/** What a route does to requests beside sending them on, in a few words each. */
function httpMarks(route: HTTPRoute): Leads["marks"] {
  const { timeout, retries, fault, mirror, mirrors = [], rewrite } = route;
  const copies = [...(mirror ? [mirror] : []), ...mirrors.flatMap(({ destination }) => destination ?? [])];
  return [
    ...faultMarks(fault),
    ...(timeout === undefined ? [] : [{ what: "timeout", says: `timeout ${timeout}` } as const]),
    ...(retries?.attempts === undefined ? [] : [{ what: "retries", says: `${retries.attempts} retries` } as const]),
    ...copies.map(({ host = "" }) => ({ what: "mirror", says: `mirrored to ${host}` }) as const),
    ...(rewrite ? [{ what: "rewrite", says: "rewritten" } as const] : []),
  ];
}

function faultMarks({ delay, abort }: HTTPFaultInjection = {}): Leads["marks"] {
  const words = [
    ...(delay ? [`delay ${delay.fixedDelay ?? ""} for ${share(delay.percentage, delay.percent)}`] : []),
    ...(abort
      ? [`abort ${abort.httpStatus ?? abort.grpcStatus ?? abort.http2Error ?? ""} for ${share(abort.percentage)}`]
      : []),
  ];
  return words.map((says) => ({ what: "fault", says: `fault: ${says}` }));
}

const share = (percentage: Percent | undefined, percent?: number): string => `${percentage?.value ?? percent ?? 100} %`;

function matchWords({ uri, method, headers = {}, authority, port }: HTTPMatchRequest): string {
  const words = [
    ...(method ? [matchText(method)] : []),
    ...(authority ? [`host ${matchText(authority)}`] : []),
    ...(uri ? [matchText(uri)] : []),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${matchText(value)}`),
    ...(port === undefined ? [] : [`port ${port}`]),
  ];
  return words.join(", ") || "those of its other conditions";
}

const matchText = ({ exact, prefix, regex }: StringMatch): string =>
  exact ?? (prefix === undefined ? (regex === undefined ? "any" : `~ ${regex}`) : `${prefix}*`);

/** Of what was made of an HTTPRoute or an Ingress, that. */
export function objectOf({ meta }: Route): string {
  const annotations = meta.annotations ?? {};
  const [, kind, name, namespace] =
    /^(\w+)\/([^.,/]+)\.([^.,/]+)/.exec(annotations["internal.istio.io/parents"] ?? "") ?? [];
  return kind === undefined ? `VirtualService/${meta.namespace}/${meta.name}` : `${kind}/${namespace}/${name}`;
}
