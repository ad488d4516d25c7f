/** `fairlead describe`: a Pod or a service in; the routes, encryption and policies that hold for it, each with its object, out. */
import type { Command } from "commander";
import { createOffline } from "../control-plane/index.ts";
import { FairleadError, nearest } from "../lib/index.ts";
import { matchesLabels, objectName, type Profile, type Proxy } from "../model/index.ts";
import { createEnvoyTypes, createRendering, type Renderer } from "../render/index.ts";
import { collect, type Io } from "./command.ts";
import { viewPod } from "./describe/pod.ts";
import { podText, serviceText } from "./describe/report.ts";
import { type DescribeMesh, viewService } from "./describe/service.ts";
import { type Forms, outputOption, parseOutput } from "./output.ts";
import { profileOption } from "./profile-option.ts";
import { objectsOfApi, objectsOfFiles, type WhyObjects } from "./why/input.ts";

interface DescribeFlags {
  readonly filename: readonly string[];
  readonly namespace: string;
  readonly profile: Profile;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly output: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  const parent = program
    .command("describe")
    .summary("Show the routes, encryption and policies that hold for a Pod or a service")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead describe pod reviews-v1-abc.default\n  fairlead describe service reviews\n  fairlead describe svc web.shop -f k8s/ -o json\n",
    );
  const add = (name: string, alias: string, summary: string, show: Show): void => {
    parent
      .command(name)
      .aliases([alias])
      .summary(summary)
      .argument("<name>", "NAME[.NAMESPACE]")
      .option("-f, --filename <path>", "a file or folder, instead of the API's objects; may be repeated", collect, [])
      .option("-n, --namespace <namespace>", "where the name has none", "default")
      .addOption(profileOption("which filters the Envoys have"))
      .option("--kubeconfig <file>", "how to reach the API")
      .option("--context <name>", "context of the kubeconfig")
      .addOption(outputOption("text"))
      .addHelpText(
        "after",
        `\nExample:\n  fairlead describe ${name} reviews${name === "pod" ? "-v1-abc" : ""}.default\n`,
      )
      .action(async (target: string, flags: DescribeFlags) => {
        const given = await readObjects(flags, io);
        const wanted = parseName(target, flags.namespace);
        const shown = show(await openMesh(given, flags.profile), given, wanted);
        const names = (): readonly string[] => [`${name}/${wanted.name}`];
        io.out(parseOutput(flags.output, "text")({ ...shown, names }));
        exit(0);
      });
  };
  add("pod", "po", "What holds for a Pod with a proxy", showPod);
  add("service", "svc", "What holds for a service, and for the Pods behind it", showService);
}

interface Name {
  readonly name: string;
  readonly namespace: string;
}

type Shown = Pick<Forms, "plain" | "data">;

type Show = (mesh: DescribeMesh, given: WhyObjects, name: Name) => Shown;

/** A Pod's name may have dots only where its namespace follows. */
function parseName(text: string, namespace: string): Name {
  const at = text.lastIndexOf(".");
  return at > 0 ? { name: text.slice(0, at), namespace: text.slice(at + 1) } : { name: text, namespace };
}

async function readObjects(flags: DescribeFlags, io: Io): Promise<WhyObjects> {
  if (flags.filename.length === 0) return objectsOfApi(flags, io);
  const read = await objectsOfFiles(flags.filename, flags.namespace);
  for (const note of read.notes) io.err(`note: ${note}\n`);
  return read;
}

async function openMesh({ objects, meshConfig }: WhyObjects, profile: Profile): Promise<DescribeMesh> {
  const offline = createOffline({ objects, ...(meshConfig ? { meshConfig } : {}) });
  const envoyTypes = createEnvoyTypes(offline.mesh.graph);
  if (objects.some(({ kind }) => kind === "EnvoyFilter")) await envoyTypes.load();
  const rendering = createRendering(offline.mesh, { envoyTypes });
  const known = new Map<string, Renderer>();
  return {
    offline,
    rendererOf(proxy) {
      const proxyClass = offline.classOf({ ...proxy, profile });
      const key = JSON.stringify(proxyClass);
      const renderer = known.get(key) ?? rendering.renderer(proxyClass);
      known.set(key, renderer);
      return renderer;
    },
  };
}

function showPod(mesh: DescribeMesh, { objects }: WhyObjects, { name, namespace }: Name): Shown {
  const proxies = mesh.offline.proxies();
  const proxy = proxies.find((one) => one.name === name && one.namespace === namespace);
  if (!proxy) {
    const isThere = objects.some(({ kind, metadata }) => objectName(kind, metadata) === `Pod/${namespace}/${name}`);
    if (isThere)
      throw new FairleadError("not-found", `Pod ${name}.${namespace} has no proxy`, {
        hint: "it has no container named istio-proxy: the mesh has no say in what it does",
      });
    throw missing(name, namespace, proxies);
  }
  const pod = objects.find(({ kind, metadata }) => objectName(kind, metadata) === `Pod/${namespace}/${name}`);
  const view = viewPod(mesh, proxy, pod);
  return { plain: () => podText(view), data: () => view };
}

function missing(name: string, namespace: string, proxies: readonly Name[]): FairleadError {
  const known = proxies.map((one) => `${one.name}.${one.namespace}`);
  const close = nearest(`${name}.${namespace}`, known);
  return new FairleadError("not-found", `there is no Pod ${name}.${namespace}`, {
    hint:
      known.length === 0
        ? "no Pod has a container named istio-proxy"
        : close === undefined
          ? `with a proxy there is ${known.slice(0, 8).join(", ")}${known.length > 8 ? ", …" : ""}`
          : `did you mean ${close}?`,
  });
}

function showService(mesh: DescribeMesh, { objects }: WhyObjects, { name, namespace }: Name): Shown {
  const { offline } = mesh;
  const service = offline.mesh.service(`${namespace}/${name}.${namespace}.svc.${offline.mesh.domain}`);
  if (!service) {
    const known = objects
      .filter(({ kind }) => kind === "Service")
      .map(({ metadata }) => `${metadata.name}.${metadata.namespace}`);
    const close = nearest(`${name}.${namespace}`, known);
    throw new FairleadError("not-found", `there is no Service ${name}.${namespace}`, {
      hint: close === undefined ? "-n names its namespace" : `did you mean ${close}?`,
    });
  }
  const selector = service.selector ?? {};
  const behind = offline
    .proxies()
    .filter(
      (proxy) =>
        proxy.namespace === namespace && Object.keys(selector).length > 0 && matchesLabels(selector, proxy.labels),
    );
  const client: Proxy | undefined = offline
    .proxies()
    .find((proxy) => proxy.type === "sidecar" && proxy.namespace === namespace);
  const view = viewService(
    mesh,
    service,
    client ?? offline.proxies().find(({ type }) => type === "sidecar"),
    undefined,
  );
  const pods = behind.map((proxy) => viewPod(mesh, proxy, undefined));
  return {
    plain: () => serviceText(view, pods),
    data: () => ({ ...view, pods: pods.map(({ services: _services, ...pod }) => pod) }),
  };
}
