/** What connections say of themselves in; the rows and pages of proxies out. */
import { formatIdentity } from "../../model/index.ts";
import { proxyNamespace } from "../../ops/index.ts";
import type { CertificateHolder, ProxyDetail, ProxyRow, ProxyState } from "../../read-api/index.ts";
import { type ProxyStatus, proxyName, shortName } from "../../xds/index.ts";
import type { Refusal } from "../refusals.ts";

export function proxyRow(proxy: ProxyStatus): ProxyRow {
  const { state, since } = stateOf(proxy);
  return {
    id: proxyName(proxy.node),
    namespace: proxyNamespace(proxy),
    kind: proxy.node.id.split("~")[0] ?? "",
    version: String(proxy.node.metadata.ISTIO_VERSION ?? ""),
    state,
    since: since.toISOString(),
    connectedAt: proxy.connectedAt.toISOString(),
  };
}

/** The worst that holds. */
function stateOf(proxy: ProxyStatus): { readonly state: ProxyState; readonly since: Date } {
  const refusing = proxy.types.filter(({ lastError, refused }) => lastError !== "" || refused.size > 0);
  if (refusing.length > 0) return { state: "refuses", since: first(proxy, refusing, ({ nackedAt }) => nackedAt) };
  const behind = proxy.types.filter(({ sentNonce, ackedNonce }) => sentNonce !== ackedNonce);
  if (behind.length > 0) return { state: "behind", since: first(proxy, behind, ({ sentAt }) => sentAt) };
  if (proxy.held.length > 0) return { state: "held back", since: first(proxy, proxy.held, ({ since }) => since) };
  const acked = proxy.types.flatMap(({ ackedAt }) => ackedAt ?? []).map((date) => date.getTime());
  return { state: "in step", since: new Date(Math.max(proxy.connectedAt.getTime(), ...acked)) };
}

function first<T>(proxy: ProxyStatus, items: readonly T[], at: (item: T) => Date | undefined): Date {
  const times = items.flatMap((item) => at(item)?.getTime() ?? []);
  return times.length === 0 ? proxy.connectedAt : new Date(Math.min(...times));
}

/** Its certificate is told by whoever issues them. */
export function proxyDetail(
  proxy: ProxyStatus,
  refusals: readonly Refusal[],
  certificate: CertificateHolder | undefined,
): ProxyDetail {
  const row = proxyRow(proxy);
  return {
    ...row,
    identity: proxy.identity ? formatIdentity(proxy.identity) : "",
    address: proxy.peer,
    types: proxy.types.map(({ type, resources, sentAt, ackedAt, lastError }) => ({
      type: shortName(type),
      resources,
      ...(sentAt ? { sentAt: sentAt.toISOString() } : {}),
      ...(ackedAt ? { ackedAt: ackedAt.toISOString() } : {}),
      error: lastError,
    })),
    held: proxy.held.map(({ type, name, clusters }) => ({ type: shortName(type), name, clusters })),
    ...(certificate ? { certificate } : {}),
    refuses: refusals
      .filter((refusal) => refusal.proxy === row.id)
      .map(({ type, resource, words, blamed }) => ({
        resource: `${shortName(type)} ${resource}`,
        words,
        objects: blamed,
      })),
  };
}
