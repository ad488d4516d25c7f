/** What nodes and namespaces of a cluster say, in; what injection needs to know of them out. */

/** Sidecars that start before other containers are stable from this minor version of Kubernetes on. */
const nativeSince = 33;

/** Whether a kubelet of that version (`v1.33.1-gke.5`) runs them. */
export function runsNativeSidecars(kubeletVersion: string): boolean {
  const minor = /^v?\d+\.(\d+)/.exec(kubeletVersion)?.[1];
  return minor !== undefined && Number(minor) >= nativeSince;
}

type Texts = Readonly<Record<string, string>>;

/** OpenShift gives each namespace a range of users and groups: proxies run as the last of each. */
export function openShiftIds(annotations: Texts): { readonly proxyUser?: number; readonly proxyGroup?: number } {
  const users = annotations["openshift.io/sa.scc.uid-range"];
  const groups = annotations["openshift.io/sa.scc.supplemental-groups"] ?? users;
  const proxyUser = endOf(users ?? "");
  const proxyGroup = endOf((groups ?? "").split(",")[0] ?? "");
  return { ...(proxyUser === undefined ? {} : { proxyUser }), ...(proxyGroup === undefined ? {} : { proxyGroup }) };
}

/** The end of `start/size` or `start-end`. */
function endOf(block: string): number | undefined {
  const [, start = "", mark, rest = ""] = /^(\d{1,10})([/-])(\d{1,10})/.exec(block) ?? [];
  if (mark === undefined) return undefined;
  return mark === "/" ? Number(start) + Number(rest) - 1 : Number(rest);
}
