/** A standalone mesh in; the sample application with its gateway, running in it, out. */
import { kubeKinds, parseObjects } from "../../kube/index.ts";
import { FairleadError, type Logger, wait } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { startWorkload, type Workload, type WorkloadSpec } from "../../standalone/index.ts";
import type { Io } from "../command.ts";
import { applyObject } from "../objects.ts";
import { shellWord } from "../shell-word.ts";
import { dashboardUrl } from "./dashboard-url.ts";
import { demoConfig, demoScript } from "./demo-files.ts";
import type { StandaloneMesh } from "./standalone-mesh.ts";
import { createWorkloadHost, logFolder } from "./workload-host.ts";

export interface Demo {
  readonly gatewayUrl: string;
  readonly workloads: ReadonlyMap<string, Workload>;
  /** Runs one more workload in the same mesh. */
  start(spec: WorkloadSpec): Promise<Workload>;
  /** The command that runs one of the sample's servers. */
  script(name: string): readonly string[];
  greet(): Promise<void>;
  stop(): Promise<void>;
}

const { configMaps } = kubeKinds;
const readyMs = 60_000;
const marker = { name: "fairlead-demo", namespace: "istio-system" };

function bookinfo(app: string, version: string, script: string = app): WorkloadSpec {
  return {
    name: `${app}-${version}`,
    namespace: "default",
    labels: { app, version },
    serviceAccount: `bookinfo-${app}`,
    ports: [9080],
    type: "sidecar",
    command: [process.execPath, demoScript(script)],
    env: { PORT: "9080", SERVICE_VERSION: version },
    restartPolicy: "Always",
  };
}

const gatewaySpec: WorkloadSpec = {
  name: "istio-ingressgateway",
  namespace: "istio-system",
  labels: { app: "istio-ingressgateway", istio: "ingressgateway" },
  serviceAccount: "istio-ingressgateway-service-account",
  ports: [8080],
  type: "router",
  command: [],
  env: {},
  restartPolicy: "Always",
};

const applications: readonly WorkloadSpec[] = [
  bookinfo("details", "v1"),
  bookinfo("ratings", "v1"),
  bookinfo("reviews", "v1"),
  bookinfo("reviews", "v2"),
  bookinfo("reviews", "v3"),
  bookinfo("productpage", "v1"),
];

export async function startDemo(mesh: StandaloneMesh, io: Io, log: Logger): Promise<Demo> {
  const { discoveryAddress } = mesh;
  if (discoveryAddress === undefined)
    throw new FairleadError("no-permission", "the demo needs network namespaces", { hint: "start it with sudo" });
  await applyOnce(mesh);
  const logs = logFolder(mesh.dir);
  const host = createWorkloadHost({ ...mesh, discoveryAddress, io, log });
  const workloads = new Map<string, Workload>();
  const stopAll = async (): Promise<void> => {
    await Promise.all([...workloads.values()].map((workload) => workload.stop()));
  };
  try {
    io.err("starting the sample application …\n");
    const specs = [gatewaySpec, ...applications];
    const started = await Promise.allSettled(
      specs.map(async (spec) => {
        const workload = await startWorkload(host, spec, io.signal);
        workloads.set(spec.name, workload);
        await workload.ready(readyMs);
        io.err(`  ${spec.name} is ready\n`);
      }),
    );
    const failed = started.flatMap((result, i) =>
      result.status === "rejected" ? [{ spec: specs[i], error: FairleadError.from(result.reason) }] : [],
    );
    const [first] = failed;
    if (first)
      throw new FairleadError(first.error.code, `${first.spec?.name}: ${first.error.message}`, {
        hint: `see ${logs}`,
        cause: first.error,
      });
    const gatewayUrl = `http://${mesh.addresses.get("gateway")}`;
    await waitForPage(`${gatewayUrl}/productpage`, io.signal);
    return {
      gatewayUrl,
      workloads,
      async start(spec) {
        const workload = await startWorkload(host, spec, io.signal);
        workloads.set(spec.name, workload);
        await workload.ready(readyMs);
        return workload;
      },
      script: (name) => [process.execPath, demoScript(name)],
      greet: () => greet(mesh, gatewayUrl, io),
      stop: stopAll,
    };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** The last Pods' endpoints reach the gateway a moment after they are ready; what is announced must be there. */
async function waitForPage(url: string, signal: AbortSignal): Promise<void> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(15_000)]);
  while (!deadline.aborted) {
    const served = await fetch(url, { signal: deadline }).then(
      async (answer) => answer.ok && (await answer.text()).includes("Reviews served by"),
      () => false,
    );
    if (served) return;
    await wait(50, deadline).catch(() => {});
  }
  throw new FairleadError("timeout", `${url} is not served`, { hint: "the logs of the gateway say why" });
}

/** Not in bookinfo.yaml: whoever deletes what that file has must keep the namespace. */
const injectedNamespace: KubeObject = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "default", labels: { "istio-injection": "enabled" } },
};

/** Only at the first start: afterwards the objects are the user's, whatever they made of them. */
async function applyOnce(mesh: StandaloneMesh): Promise<void> {
  if (await mesh.client.find(configMaps, marker)) return;
  await applyObject(mesh.client, injectedNamespace);
  for (const { object } of parseObjects("bookinfo.yaml", demoConfig("bookinfo.yaml")))
    await applyObject(mesh.client, object);
  await mesh.client.create(configMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: marker,
    data: { applied: "bookinfo.yaml" },
  });
}

async function greet(mesh: StandaloneMesh, gatewayUrl: string, io: Io): Promise<void> {
  io.err(
    `\nThe mesh on a page:      ${await dashboardUrl(mesh.dir, new Date())}\n` +
      `The sample application:  ${gatewayUrl}/productpage\n` +
      `The API:                 export KUBECONFIG=${shellWord(mesh.kubeconfig)}\n` +
      `Logs:                    ${logFolder(mesh.dir)}\n\n` +
      "Three things to try:\n" +
      "  kubectl get pods -A                                   every workload is a Pod with its sidecar\n" +
      "  kubectl apply -f demo/config/reviews-v1.yaml          all reviews from v1, live at once\n" +
      `  ./fairlead proxy-status --data ${shellWord(mesh.dir)}\n\n` +
      "Without kubectl: ./fairlead apply -f demo/config/reviews-v1.yaml. Ctrl-C stops and removes everything.\n",
  );
}
