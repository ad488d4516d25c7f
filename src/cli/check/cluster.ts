/** A cluster in; what is well with its API, the mesh's installation, its control planes and their proxies, and what is not, out. */
import type { Finding } from "../../../scripts/preflight/finding.mjs";
import { type ClusterAccess, createKubeClient, type KubeClient, kindRef, kubeKinds } from "../../kube/index.ts";
import { FairleadError, isRecord, readList, readNumber, readRecord, readText } from "../../lib/index.ts";
import { istioKinds, type KubeObject } from "../../model/index.ts";
import { debugOfPod } from "../pod-debug.ts";
import { finding, type Row, unreachable } from "./finding.ts";

export interface ClusterCheck {
  readonly access: ClusterAccess;
  readonly namespace: string;
  readonly signal: AbortSignal;
}

export async function checkCluster(check: ClusterCheck): Promise<readonly Finding[]> {
  const client = createKubeClient(check.access);
  try {
    const { pods, problem } = await controlPlanes(client, check);
    if (problem) return [problem];
    const answers: readonly Row[] = [[`the API at ${check.access.server} answers`, true, "", ""]];
    return [
      ...answers.map(finding("api")),
      ...(await checkInstallation(client, check)),
      ...checkPods(pods, check.namespace),
      ...(await checkProxies(pods, check)),
    ];
  } finally {
    client.close();
  }
}

/** Or why the API does not say. */
async function controlPlanes(
  client: KubeClient,
  check: ClusterCheck,
): Promise<{ readonly pods: readonly KubeObject[]; readonly problem?: Finding }> {
  try {
    const { namespace, signal } = check;
    const { items: pods } = await client.list(kubeKinds.pods, { namespace, labelSelector: "app=istiod", signal });
    return { pods };
  } catch (error) {
    const name = `the API at ${check.access.server} answers`;
    const { hint = "is it the right --context?" } = FairleadError.from(error);
    return { pods: [], problem: unreachable("api", name, error, hint) };
  }
}

async function checkInstallation(client: KubeClient, { namespace }: ClusterCheck): Promise<readonly Finding[]> {
  const section = "installation";
  try {
    const definitions = new Set((await client.list(kubeKinds.definitions)).items.map(({ metadata }) => metadata.name));
    const missing = istioKinds
      .map((kind) => `${kindRef(kind).plural}.${kindRef(kind).group}`)
      .filter((name) => !definitions.has(name));
    const injectors = (await client.list(kubeKinds.mutatingWebhooks)).items.filter(({ webhooks }) =>
      readList(webhooks).some((one) => readText(readRecord(one).name).endsWith("istio.io")),
    );
    const bare = injectors.filter(({ webhooks }) =>
      readList(webhooks).some((one) => readText(readRecord(readRecord(one).clientConfig).caBundle) === ""),
    );
    const rows: readonly Row[] = [
      [
        `the API serves all ${istioKinds.length} of Istio's kinds`,
        missing.length === 0,
        `it lacks ${missing.join(", ")}`,
        "`fairlead install` brings them",
      ],
      [
        "Pods are injected",
        injectors.length > 0,
        "no webhook of the mesh is there",
        `\`fairlead install\` brings it; namespaces are labelled istio-injection=enabled`,
      ],
      [
        "webhooks know the certificate of the control plane",
        bare.length === 0,
        `${bare.map(({ metadata }) => metadata.name).join(", ")} has none`,
        `it is written by the control plane: look at its log, kubectl logs -n ${namespace} deploy/istiod`,
      ],
    ];
    return rows.map(finding(section));
  } catch (error) {
    return [
      unreachable(
        section,
        "the installation can be read",
        error,
        "list of CustomResourceDefinitions and webhooks is needed",
      ),
    ];
  }
}

function checkPods(pods: readonly KubeObject[], namespace: string): readonly Finding[] {
  if (pods.length === 0)
    return [
      {
        ...{ section: "control-plane", name: `a control plane runs in ${namespace}`, state: "error" as const },
        detail: "there is no Pod with label app=istiod",
        remedy: "`fairlead install` brings one; -i names another namespace",
      },
    ];
  const rows = pods.map(({ metadata, status }): Row => {
    const [container] = readList(readRecord(status).containerStatuses).map(readRecord);
    const restarts = readNumber(container?.restartCount) ?? 0;
    const isReady = container?.ready === true;
    return [
      `${metadata.name} is ${isReady ? "ready" : "not ready"}, started again ${restarts} times`,
      isReady && restarts === 0,
      "it died, hangs or is not in step with the API",
      `kubectl -n ${namespace} describe pod ${metadata.name}`,
    ];
  });
  return rows.map(finding("control-plane"));
}

/** By what each control plane says of those that are connected to it. */
async function checkProxies(pods: readonly KubeObject[], check: ClusterCheck): Promise<readonly Finding[]> {
  const running = pods.filter(({ status }) => readRecord(status).phase === "Running");
  const found = await Promise.all(
    running.map(async ({ metadata: { name } }) => {
      try {
        const ask = debugOfPod(check.access, { name, namespace: check.namespace }, check.signal);
        return readList(await ask("syncz"))
          .filter(isRecord)
          .map(proxyRow)
          .map(finding("proxies"));
      } catch (error) {
        return [
          unreachable("proxies", `${name} says which are connected`, error, FairleadError.from(error).hint ?? ""),
        ];
      }
    }),
  );
  const all = found.flat();
  const nobody: readonly Row[] = [["no proxy is connected", true, "", ""]];
  return all.length > 0 || running.length === 0 ? all : nobody.map(finding("proxies"));
}

const types = ["cluster", "listener", "endpoint", "route"];

function proxyRow(row: Readonly<Record<string, unknown>>): Row {
  const errors = Object.entries(readRecord(row.errors)).map(([type, error]) => `${type}: ${String(error)}`);
  const stale = types.filter((type) => readText(row[`${type}_sent`]) !== readText(row[`${type}_acked`]));
  const isGood = errors.length + stale.length === 0;
  const name = String(row.proxy);
  return [
    `${name} is ${isGood ? "in step" : "not in step"}`,
    isGood,
    errors.join("; ") || `it has not acknowledged its ${stale.join(", ")}`,
    `fairlead proxy-status -v ${name}`,
  ];
}
