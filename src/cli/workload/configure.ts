/** A WorkloadGroup and the API of its mesh in; a folder with all that a machine needs to join out. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type KubeClient, kindRef, kubeKinds, parseObjects, requestToken } from "../../kube/index.ts";
import { FairleadError, parseIp, parseJson, readList, readRecord, readText } from "../../lib/index.ts";
import { type KubeObject, workloadGroup } from "../../model/index.ts";
import type { Io } from "../command.ts";
import { accountOf, controlPlaneHost, isRevisioned, vmSettings } from "./vm-files.ts";

export interface ConfigureFlags {
  readonly file?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly output: string;
  readonly clusterID?: string;
  readonly tokenDuration: string;
  readonly ingressService: string;
  readonly ingressIP?: string;
  readonly autoregister?: boolean;
  readonly captureDns: boolean;
  readonly internalIP?: string;
  readonly externalIP?: string;
  readonly istioNamespace: string;
  readonly revision?: string;
}

const { configMaps, services } = kubeKinds;
/** What a control plane calls its cluster where nobody names it. */
const usualCluster = "Kubernetes";

export async function configureEntry(client: KubeClient, flags: ConfigureFlags, io: Io): Promise<number> {
  const group = await readGroup(client, flags);
  const { istioNamespace: namespace, revision = "" } = flags;
  const suffix = isRevisioned(revision) ? `-${revision}` : "";
  const mesh = await dataOf(client, namespace, `istio${suffix}`, "mesh");
  const options = {
    ...{ namespace, revision, captureDns: flags.captureDns, autoRegister: flags.autoregister ?? false },
    cluster: flags.clusterID ?? (await clusterOf(client, namespace, `istio-sidecar-injector${suffix}`)) ?? usualCluster,
    internalIp: flags.internalIP ?? "",
    externalIp: flags.externalIP ?? "",
  };
  const { meshYaml, clusterEnv } = vmSettings(group, mesh, options);
  const own = group.metadata.namespace ?? "";
  const roots = await dataOf(client, own, "istio-ca-root-cert", "root-cert.pem");
  const { token } = await requestToken(client, {
    ...{ namespace: own, serviceAccount: accountOf(group), audiences: ["istio-ca"] },
    expirationSeconds: Number(flags.tokenDuration),
  });
  const address = await controlPlaneAddress(client, flags);
  if (address === undefined)
    io.err(
      `Could not auto-detect IP for ${controlPlaneHost(options)}/${namespace}. Use --ingressIP to manually specify the Gateway address to reach istiod from the VM.\n`,
    );
  const hosts = address === undefined ? "" : `${address} ${controlPlaneHost(options)}\n`;
  mkdirSync(flags.output, { recursive: true });
  writeFiles(flags.output, { "mesh.yaml": meshYaml, "cluster.env": clusterEnv, "root-cert.pem": roots, hosts });
  writeSecret(join(flags.output, "istio-token"), token);
  io.err(
    `Warning: a security token for namespace "${own}" and service account "${accountOf(group)}" has been generated and stored at "${join(flags.output, "istio-token")}"\n`,
  );
  io.out(`Configuration generation into directory ${flags.output} was successful\n`);
  return 0;
}

function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o644 });
}

/** Nobody but its owner reads it, also where a file of the name was there. */
function writeSecret(path: string, text: string): void {
  writeFileSync(path, "", { mode: 0o600 });
  chmodSync(path, 0o600);
  writeFileSync(path, text);
}

async function readGroup(client: KubeClient, { file, name = "", namespace = "" }: ConfigureFlags): Promise<KubeObject> {
  if (file === undefined) return client.get(kindRef(workloadGroup), { name, namespace });
  const [group] = parseObjects(file, readFileSync(file, "utf8")).map(({ object }) => object);
  if (group?.kind !== workloadGroup.kind)
    throw new FairleadError("invalid", `${file} has no WorkloadGroup`, {
      hint: "fairlead workload group create prints one",
    });
  return { ...group, metadata: { ...group.metadata, namespace: group.metadata.namespace ?? namespace } };
}

async function dataOf(client: KubeClient, namespace: string, name: string, key: string): Promise<string> {
  const found = await client.find(configMaps, { namespace, name });
  const text = readText(readRecord(readRecord(found).data)[key]);
  if (found && text !== "") return text;
  throw new FairleadError("not-found", `configmap ${name} was not found in namespace ${namespace}, or has no ${key}`, {
    hint: "--istioNamespace and --revision say where the control plane is",
  });
}

/** As the injector tells Pods; undefined where nothing is injected by such values, as beside `fairlead up`. */
async function clusterOf(client: KubeClient, namespace: string, name: string): Promise<string | undefined> {
  const found = await client.find(configMaps, { namespace, name });
  const values = readText(readRecord(readRecord(found).data).values);
  if (values === "") return undefined;
  return readText(readRecord(readRecord(readRecord(parseJson(values)).global).multiCluster).clusterName) || undefined;
}

/** Of the gateway through which machines reach the control plane. */
async function controlPlaneAddress(client: KubeClient, flags: ConfigureFlags): Promise<string | undefined> {
  if (flags.ingressIP !== undefined && parseIp(flags.ingressIP)) return flags.ingressIP;
  const [name = "", namespace = flags.istioNamespace] = flags.ingressService.split(".");
  const { spec, status } = readRecord(await client.find(services, { name, namespace }));
  const [first] = readList(readRecord(readRecord(status).loadBalancer).ingress).map(readRecord);
  const [external] = readList(readRecord(spec).externalIPs);
  const found = readText(first?.ip) || readText(external);
  return parseIp(found) ? found : undefined;
}
