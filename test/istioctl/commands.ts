/** What istioctl is asked, on the small mesh of `objects.yaml`. */

/** All of istiod's debug paths, as `istioctl x internal-debug` names them. */
export const debugPaths: readonly string[] = [
  ...["adsz", "ambientz", "authorizationz", "cachez", "clusterz", "configz", "connections"],
  ...["endpointShardz", "endpointz", "inject", "instancesz", "krtz", "list", "mcsz", "mesh", "networkz"],
  ...["push_status", "pushcontext", "registryz", "resourcesz", "syncz", "syncz?namespace=shop", "telemetryz"],
  ...["config_dump?proxyID=web-1.shop", "config_dump?proxyID=web-1.shop&types=rds", "edsz?proxyID=web-1.shop"],
  ...["ndsz?proxyID=web-1.shop", "ecdsz?proxyID=web-1.shop", "sidecarz?proxyID=web-1.shop", "adsz?proxyID=web-1.shop"],
  ...["telemetryz?proxyID=web-1.shop", "config_dump", "config_dump?proxyID=none.shop", "sidecarz", "nothing"],
  ...["cachez?sizes=true", "cachez?clear=true", "adsz?push=true"],
];

const gateway = "istio-ingressgateway-1.istio-system";
const [web, reviews] = ["web-1.shop", "reviews-v1-1.shop"];

/** Text after `istioctl`, by blanks. `FILE` is the folder of this file. */
export const commands: readonly string[] = [
  ...["version", "version --short", "version -o json", "version --remote=false", "x version"],
  ...[
    "proxy-status",
    "proxy-status -v 1",
    "proxy-status -n shop",
    "proxy-status -o json",
    "proxy-status -n store -o yaml",
  ],
  ...[`proxy-status ${web}`, `proxy-status ${gateway}`, "proxy-status none.shop"],
  ...[`proxy-config all ${web}`, `proxy-config all ${gateway} -o short`],
  ...[`proxy-config cluster ${web}`, `proxy-config cluster ${gateway}`],
  ...[`proxy-config cluster ${web} --fqdn reviews.shop.svc.cluster.local -o json`],
  ...[`proxy-config cluster ${web} --direction outbound --port 9080 --subset v1`],
  ...[`proxy-config listener ${web}`, `proxy-config listener ${web} --port 9080 -o json`],
  ...[`proxy-config listener ${gateway}`, `proxy-config listener ${reviews} --port 15006 -o json`],
  ...[`proxy-config route ${web}`, `proxy-config route ${web} --name 9080 -o json`, `proxy-config route ${gateway}`],
  ...[
    `proxy-config endpoint ${web}`,
    `proxy-config endpoint ${web} --cluster outbound|9080||reviews.shop.svc.cluster.local`,
  ],
  ...[
    `proxy-config eds ${web}`,
    `proxy-config bootstrap ${web}`,
    `proxy-config ecds ${web}`,
    `proxy-config secret ${web}`,
  ],
  ...[`proxy-config log ${web}`, "proxy-config cluster none.shop", "proxy-config cluster db-1.store"],
  ...["analyze -A", "analyze -n shop", "analyze -A -o json", "analyze --use-kube=false FILE/objects.yaml"],
  ...["analyze -L", "validate -f FILE/objects.yaml", "validate -f FILE/none.yaml"],
  ...["x describe pod web-1 -n shop", "x describe pod reviews-v1-1 -n shop", "x describe pod db-1 -n store"],
  ...["x describe service reviews -n shop", "x describe service web -n shop", "x describe service none -n shop"],
  ...[`x authz check ${reviews}`, `x authz check ${web}`],
  ...["x check-inject -n shop web-1", "x check-inject -n store db-1", "x injector list", "x precheck"],
  ...["tag list", "tag list -o json", "tag generate canary --revision default", "tag remove none -y"],
  ...[
    "remote-clusters",
    "admin log",
    "admin log --level ads:debug",
    "admin log --reset",
    "admin log --level none:debug",
  ],
  ...["waypoint list -A", "waypoint generate -n shop", "waypoint status -n shop", "ztunnel-config workload"],
  ...["manifest translate --help", "create-remote-secret --name c1 --server https://10.0.0.1"],
  ...["x workload entry configure --help", "bug-report --dry-run"],
  ...debugPaths.map((path) => `x internal-debug ${path}`),
];
