/** A Pod of the mesh in; its proxy out, under Fairlead's agent or pilot-agent, in a namespace of its own with its traffic captured. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applyCapture, createRunCommand, defaultCapture } from "../../src/agent/index.ts";
import { type KubeClient, kubeKinds, requestToken } from "../../src/kube/index.ts";
import { readRecord } from "../../src/lib/index.ts";
import { enterCommand } from "../../src/standalone/enter.ts";
import { startProcess } from "../../src/standalone/index.ts";
import { pod } from "../render/objects.ts";
import { findEnvoy } from "../require.ts";
import { type Caller, startCaller } from "../traffic/caller.ts";
import { eventually } from "../traffic/mesh.ts";
import type { TrafficNetwork } from "../traffic/network.ts";

export interface Workload {
  readonly name: string;
  readonly address: string;
  /** Path of its network namespace. */
  readonly path: string;
  readonly caller: Caller;
  /** Serial number of the certificate that its Envoy shows. */
  certificate(): Promise<string>;
  log(): string;
  close(): Promise<void>;
}

export interface WorkloadOptions {
  readonly name: string;
  readonly app: string;
  readonly client: KubeClient;
  readonly network: TrafficNetwork;
  /** Which control plane: the name of its Service, and its address. */
  readonly plane: { readonly host: string; readonly address: string };
  readonly agent: AgentProgram;
}

export interface AgentProgram {
  /** What stands before `proxy sidecar`. */
  readonly command: readonly string[];
  /** Settings that it needs beyond the Pod's. */
  readonly proxyConfig: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** The proxy's group, whose traffic is not captured; the user is ours, who may read the programs wherever they are. */
const proxyGroup = "1337";
const root = join(import.meta.dirname, "../..");
export const fairleadAgent: AgentProgram = {
  command: [process.execPath, join(root, "dist/main.js"), "agent"],
  proxyConfig: {},
};

/** pilot-agent makes Envoy's bootstrap from a template that its image has. */
export const pilotAgent = (
  binary: string,
  proxyBootstrapTemplatePath: string,
  env: Readonly<Record<string, string>> = {},
): AgentProgram => ({ command: [binary], proxyConfig: { proxyBootstrapTemplatePath }, env });

export async function startWorkload(options: WorkloadOptions): Promise<Workload> {
  const { name, app, client, network, plane } = options;
  const at = await network.pod();
  const object = pod(name, { address: at.address, proxy: "sidecar", labels: { app } });
  const spec = { ...readRecord(object.spec), serviceAccountName: app };
  const image = {
    containers: [
      { name: "app", image: "app" },
      { name: "istio-proxy", image: "proxy", args: ["proxy", "sidecar"] },
    ],
  };
  const made = await client.create(kubeKinds.pods, { ...object, spec: { ...spec, ...image, nodeName: "here" } });
  await client.patchStatus(kubeKinds.pods, { name, namespace: "default" }, object.status);
  await applyCapture(
    {
      ...defaultCapture,
      ...{ proxyUid: proxyGroup, proxyGid: proxyGroup, inboundInterceptionMode: "REDIRECT" },
      ...{ outboundIpRangesInclude: "*", inboundPortsInclude: "*", inboundPortsExclude: "15090,15021,15020" },
    },
    { run: createRunCommand(at.path), log: () => {} },
  );
  const dir = mkdtempSync(join(tmpdir(), "fairlead-workload-"));
  const write = (path: string, text: string): void => {
    mkdirSync(join(dir, path, ".."), { recursive: true });
    writeFileSync(join(dir, path), text);
  };
  const { token } = await requestToken(client, {
    ...{
      serviceAccount: app,
      namespace: "default",
      audiences: ["istio-ca"],
      boundPod: { name, uid: made.metadata.uid ?? "" },
    },
  });
  write("var/run/secrets/tokens/istio-token", token);
  write("var/run/secrets/istio/root-cert.pem", await rootOf(client));
  write("hosts", `127.0.0.1 localhost\n${plane.address} ${plane.host}\n`);
  write("etc/istio/pod/labels", `app="${app}"\nsecurity.istio.io/tlsMode="istio"\n`);
  write("etc/istio/pod/annotations", "");
  const { file, args } = enterCommand({ namespace: at.path, binds: [[join(dir, "hosts"), "/etc/hosts"]] }, [
    ...["setpriv", `--regid=${proxyGroup}`, "--clear-groups", "--"],
    ...options.agent.command,
    "proxy",
    "sidecar",
    "--domain",
    "default.svc.cluster.local",
    "--proxyLogLevel=warning",
  ]);
  const lines: string[] = [];
  const discoveryAddress = `${plane.host}:15012`;
  const agent = startProcess({
    file,
    args,
    cwd: dir,
    env: {
      PATH: process.env.PATH ?? "/usr/bin",
      POD_NAME: name,
      POD_NAMESPACE: "default",
      INSTANCE_IP: at.address,
      SERVICE_ACCOUNT: app,
      PILOT_CERT_PROVIDER: "istiod",
      CA_ADDR: discoveryAddress,
      TRUST_DOMAIN: "cluster.local",
      ISTIO_META_CLUSTER_ID: "Kubernetes",
      ISTIO_META_INTERCEPTION_MODE: "REDIRECT",
      ...options.agent.env,
      PROXY_CONFIG: JSON.stringify({
        discoveryAddress,
        binaryPath: findEnvoy(),
        concurrency: 1,
        terminationDrainDuration: "2s",
        ...options.agent.proxyConfig,
      }),
    },
    output: (line) => lines.push(line),
    journal: network.journal,
  });
  const ended = agent.exited.then((status) => {
    throw new Error(`the agent of ${name} ended with ${status}:\n${lines.slice(-20).join("\n")}`);
  });
  ended.catch(() => {});
  await Promise.race([
    ended,
    untilProxyReady(name, at.address).catch((error) => {
      throw new Error(`${error.message}\n${lines.slice(-20).join("\n")}`);
    }),
  ]);
  const caller = startCaller(at.path);
  return {
    name,
    address: at.address,
    path: at.path,
    caller,
    log: () => lines.join("\n"),
    async certificate() {
      const stdout = await askAdmin(at.path, "certs");
      const [first] = JSON.parse(stdout).certificates.flatMap(
        (one: { cert_chain: { serial_number: string }[] }) => one.cert_chain,
      );
      return String(first?.serial_number);
    },
    async close() {
      caller.stop();
      await client.delete(kubeKinds.pods, { name, namespace: "default" }, { gracePeriodSeconds: 0 });
      await agent.stop(20_000);
      await at.remove();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export async function untilProxyReady(pod: string, address: string): Promise<void> {
  const isReady = async (): Promise<boolean> =>
    (await fetch(`http://${address}:15021/healthz/ready`).catch(() => undefined))?.ok === true;
  await eventually(isReady, `the proxy of ${pod}`, 240_000);
}

async function rootOf(client: KubeClient): Promise<string> {
  let found = "";
  await eventually(
    async () => {
      const map = await client.find(kubeKinds.configMaps, { name: "istio-ca-root-cert", namespace: "default" });
      found = String(readRecord(map?.data)["root-cert.pem"] ?? "");
      return found !== "";
    },
    "the mesh's root",
    240_000,
  );
  return found;
}

/** What an Envoy's admin answers to the processes of its Pod; by Node, as not every machine has curl. */
export async function askAdmin(namespace: string, path: string): Promise<string> {
  const script = `fetch("http://127.0.0.1:15000/${path}").then((answer) => answer.text()).then((text) => process.stdout.write(text), () => {})`;
  return (await createRunCommand(namespace)(process.execPath, ["-e", script])).stdout;
}
