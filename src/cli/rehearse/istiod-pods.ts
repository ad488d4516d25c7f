/** Objects of a cluster in; the Pods of its istiod, and how these were told to see the mesh, out. */
import { FairleadError, isRecord, readList, readRecord, readText } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";

export interface IstiodPod {
  readonly name: string;
  readonly namespace: string;
}

export interface IstiodSettings {
  /** Empty where none was found in the cluster. */
  readonly pods: readonly IstiodPod[];
  readonly revision: string;
  readonly domain: string;
  readonly cluster: string;
  /** `namespace/name` of the ConfigMap with the mesh config. */
  readonly configMap: string;
  /** Environment that its installation does not give it: `PILOT_HTTP10=true`. */
  readonly environment: readonly string[];
}

export interface IstiodWish {
  readonly revision?: string;
  readonly istioNamespace: string;
}

/** As istioctl finds it: by the label. Of several revisions one has to be named. */
export function findIstiod(objects: readonly KubeObject[], wish: IstiodWish): IstiodSettings {
  const pods = objects.filter(
    ({ kind, metadata, status }) =>
      kind === "Pod" &&
      metadata.namespace === wish.istioNamespace &&
      metadata.labels?.app === "istiod" &&
      readText(readRecord(status).phase) === "Running",
  );
  const byRevision = Map.groupBy(pods, ({ metadata }) => metadata.labels?.["istio.io/rev"] ?? "default");
  const [only, ...others] = [...byRevision.keys()].sort();
  if (wish.revision === undefined && others.length > 0)
    throw new FairleadError("usage", `istiod runs in ${byRevision.size} revisions: ${[only, ...others].join(", ")}`, {
      hint: "name one with --revision",
    });
  const revision = wish.revision ?? only ?? "default";
  const found = byRevision.get(revision) ?? [];
  const container = found[0] && discoveryContainer(found[0]);
  const plain = revision === "default" ? "" : revision;
  return {
    pods: found.map(({ metadata }) => ({ name: metadata.name, namespace: wish.istioNamespace })),
    revision: plain,
    domain: flagOf(container, "--domain") ?? "cluster.local",
    cluster: envOf(container, "CLUSTER_ID") ?? "Kubernetes",
    configMap: `${wish.istioNamespace}/${plain === "" ? "istio" : `istio-${plain}`}`,
    environment: readList(container?.env)
      .filter(isRecord)
      .filter(({ name, value }) => typeof value === "string" && isSwitch(readText(name)))
      .map(({ name, value }) => `${readText(name)}=${readText(value)}`),
  };
}

/** Of what every installation has, nothing decides what proxies are sent. */
const usual: ReadonlySet<string> = new Set(["PILOT_CERT_PROVIDER", "PILOT_ENABLE_ANALYSIS", "PILOT_TRACE_SAMPLING"]);

const isSwitch = (name: string): boolean =>
  /^(PILOT|ENABLE|DISABLE|ISTIO|UNSAFE|PREFER)_/.test(name) && !usual.has(name);

type Container = Readonly<Record<string, unknown>>;

function discoveryContainer({ spec }: KubeObject): Container | undefined {
  const containers = readList(readRecord(spec).containers).filter(isRecord);
  return containers.find(({ name }) => name === "discovery") ?? containers[0];
}

/** `--domain X` and `--domain=X`. */
function flagOf(container: Container | undefined, flag: string): string | undefined {
  const args = readList(container?.args).map(readText);
  const at = args.indexOf(flag);
  return at < 0 ? args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1) : args[at + 1];
}

/** One that is written out; one that comes from elsewhere is not looked up. */
function envOf(container: Container | undefined, name: string): string | undefined {
  const found = readList(container?.env)
    .filter(isRecord)
    .find((one) => one.name === name);
  return readText(found?.value) || undefined;
}
