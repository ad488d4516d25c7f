/** `fairlead render`: files in, what a proxy would be sent out, with no cluster and no running control plane. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type Command, Option } from "commander";
import { createOffline, type Offline, standIns } from "../control-plane/index.ts";
import { loadObjects } from "../kube/index.ts";
import { FairleadError, isRecord, parseYaml } from "../lib/index.ts";
import { bytesOf, type KubeObject, type Profile, type Proxy, type ResourceType, types } from "../model/index.ts";
import {
  createEnvoyTypes,
  createJsonPrinter,
  createRendering,
  type JsonResource,
  type Rendering,
  type RenderingOptions,
  sayReport,
  shownResource,
} from "../render/index.ts";
import type { Io } from "./command.ts";
import { printJson, printYaml, redactSecrets } from "./print.ts";
import { profileOption } from "./profile-option.ts";

interface RenderFlags {
  readonly filename: readonly string[];
  readonly proxy?: string;
  readonly all?: boolean;
  readonly out?: string;
  readonly meshConfig?: string;
  readonly profile: Profile;
  readonly proxyVersion?: string;
  readonly output: "json" | "yaml" | "summary";
}

/** Files of a proxy's folder, and keys of the printed object, by the type they hold. */
const sections: readonly (readonly [string, ResourceType, "always" | "where-used"])[] = [
  ["clusters", types.cluster, "always"],
  ["listeners", types.listener, "always"],
  ["routes", types.route, "always"],
  ["endpoints", types.endpoint, "always"],
  ["secrets", types.secret, "where-used"],
  ["ecds", types.extension, "where-used"],
];

type Rendered = Readonly<Record<string, readonly JsonResource[]>>;

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("render")
    .summary("Show what a proxy would be sent, offline, from files")
    .description(
      "Renders the Envoy configuration of proxies from Kubernetes and Istio YAML, without a cluster.\n" +
        "A proxy is every Pod with a container named istio-proxy; where there is none, a Pod is made up for each Deployment,\n" +
        "or else for each Service. A file named mesh.yaml is taken as MeshConfig.",
    )
    .requiredOption("-f, --filename <path...>", "files and folders (recursive) with YAML or JSON")
    .option("--proxy <pod.namespace>", "render this proxy and print it")
    .option("--all", "render every proxy; needs --out")
    .option("--out <dir>", "write one folder per proxy instead of printing")
    .option("--mesh-config <file>", "MeshConfig, instead of a mesh.yaml among the files")
    .addOption(profileOption("which filters the Envoy has"))
    .option("--proxy-version <version>", "Istio version of the proxies, where it is not that of their images' tags")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["json", "yaml", "summary"]).default("json"))
    .addHelpText(
      "after",
      "\nExamples:\n" +
        "  fairlead render -f k8s/ --proxy productpage-v1.default -o summary\n" +
        "  fairlead render -f k8s/ -f mesh.yaml --all --out rendered/\n",
    )
    .action(async (flags: RenderFlags) => exit(await render(flags, io)));
}

async function render(flags: RenderFlags, io: Io): Promise<number> {
  if (flags.proxy === undefined && !flags.all)
    throw new FairleadError("usage", "name a proxy with --proxy POD.NAMESPACE, or render all with --all --out DIR");
  if (flags.all && flags.out === undefined) throw new FairleadError("usage", "--all needs --out DIR");
  const { objects, meshConfig } = await readInput(flags);
  const pods = standIns(objects);
  for (const [{ kind }, { metadata }] of pods)
    io.err(`note: no Pod is among the files; ${metadata.name}.${metadata.namespace} stands for its ${kind}\n`);
  const offline = createOffline({ objects: [...objects, ...pods.values()], ...(meshConfig ? { meshConfig } : {}) });
  for (const problem of offline.problems()) io.err(`warning: ${problem}\n`);
  const proxies = flags.all ? offline.proxies() : [findProxy(offline, flags.proxy ?? "")];
  const print = createJsonPrinter();
  // Proxies share what they get alike.
  const rendering = createRendering(offline.mesh, await renderingOptions(offline, objects, io));
  for (const proxy of proxies) {
    const show: Print = flags.out === undefined ? (type, bytes) => print(type, shownResource(type, bytes)) : print;
    const rendered = renderProxy(offline, asAsked(proxy, flags), show, rendering);
    if (flags.out !== undefined) await writeFolder(folderOf(flags.out, proxy), rendered);
    else io.out(format(redactSecrets(rendered), flags.output));
  }
  return 0;
}

function asAsked(proxy: Proxy, { profile, proxyVersion: istioVersion }: RenderFlags): Proxy {
  return { ...proxy, profile, ...(istioVersion === undefined ? {} : { istioVersion }) };
}

async function readInput(
  flags: RenderFlags,
): Promise<{ objects: readonly KubeObject[]; meshConfig: Readonly<Record<string, unknown>> | undefined }> {
  const meshFiles = new Map<string, Readonly<Record<string, unknown>>>();
  const loaded = await loadObjects(flags.filename, {
    other(file, document) {
      if (basename(file) !== "mesh.yaml" || !isRecord(document))
        throw new FairleadError(
          "invalid",
          `${file}: not a Kubernetes object (it needs apiVersion, kind and metadata.name)`,
        );
      meshFiles.set(file, document);
    },
  });
  if (flags.meshConfig !== undefined) {
    const [document] = parseYaml(
      await readFile(flags.meshConfig, "utf8").catch((cause: unknown) => {
        throw new FairleadError("not-found", `cannot read ${flags.meshConfig}`, { cause });
      }),
    );
    if (!isRecord(document)) throw new FairleadError("invalid", `${flags.meshConfig}: not a MeshConfig`);
    return { objects: loaded.map((l) => l.object), meshConfig: document };
  }
  if (meshFiles.size > 1)
    throw new FairleadError("invalid", `more than one mesh.yaml: ${[...meshFiles.keys()].join(", ")}`, {
      hint: "name the right one with --mesh-config",
    });
  return { objects: loaded.map((l) => l.object), meshConfig: [...meshFiles.values()][0] };
}

function findProxy(offline: Offline, name: string): Proxy {
  const proxy = offline.proxies().find((candidate) => `${candidate.name}.${candidate.namespace}` === name);
  if (proxy) return proxy;
  const known = offline.proxies().map((candidate) => `${candidate.name}.${candidate.namespace}`);
  throw new FairleadError("not-found", `no proxy ${name} in the input`, {
    hint:
      known.length > 0
        ? `there is ${known.slice(0, 10).join(", ")}${known.length > 10 ? ", …" : ""}`
        : "no Pod has a container named istio-proxy, and there is no Deployment or Service that one could stand for; of a running mesh: `fairlead get pods -A -o yaml > pods.yaml`, then -f pods.yaml",
  });
}

/** What is wrong is told once, however many proxies it concerns. */
async function renderingOptions(offline: Offline, objects: readonly KubeObject[], io: Io): Promise<RenderingOptions> {
  const envoyTypes = createEnvoyTypes(offline.mesh.graph);
  if (objects.some(({ kind }) => kind === "EnvoyFilter")) await envoyTypes.load();
  const told = new Set<string>();
  return {
    envoyTypes,
    onPatch(report) {
      const said = sayReport(report);
      if (said !== undefined && !told.has(said)) io.err(`warning: ${said}\n`);
      told.add(said ?? "");
    },
    onProblem({ object, field, problem }) {
      const said = `${object} ${field}: ${problem}`;
      if (!told.has(said)) io.err(`warning: ${said}\n`);
      told.add(said);
    },
    onFault: ({ type, name, error }) =>
      io.err(`fault: ${type} ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`),
  };
}

type Print = (type: ResourceType, bytes: Uint8Array) => JsonResource;

function renderProxy(offline: Offline, proxy: Proxy, print: Print, rendering: Rendering): Rendered {
  const renderer = rendering.renderer(offline.classOf(proxy));
  try {
    const out: Record<string, readonly JsonResource[]> = {};
    for (const [section, type, when] of sections) {
      const resources = [...renderer.all(type).values()].sort((a, b) => (a.name < b.name ? -1 : 1));
      if (when === "where-used" && resources.length === 0) continue;
      out[section] = resources.map((resource) => print(type, bytesOf(resource)));
    }
    return out;
  } finally {
    renderer.dispose();
  }
}

/** The names come from files of any origin, and the folder is replaced: it must lie below the one that was named. */
function folderOf(out: string, { name, namespace }: Proxy): string {
  const folder = `${name}.${namespace}`;
  if (/[/\\\0]/.test(folder) || folder === "." || folder === "..")
    throw new FairleadError("invalid", `Pod ${namespace}/${name}: the name cannot be that of a folder`, {
      hint: "Kubernetes would refuse it too: use lower-case letters, digits and -",
    });
  return join(out, folder);
}

/** Keys, and pull secrets of Wasm modules. */
const holdsSecrets: ReadonlySet<string> = new Set(["secrets", "ecds"]);

/** A folder is replaced whole, so that nothing of an earlier rendering stays. */
async function writeFolder(dir: string, rendered: Rendered): Promise<void> {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  for (const [section, resources] of Object.entries(rendered))
    await writeFile(join(dir, `${section}.json`), `${JSON.stringify(resources, null, 1)}\n`, {
      mode: holdsSecrets.has(section) ? 0o600 : 0o644,
    });
}

function format(rendered: Rendered, output: RenderFlags["output"]): string {
  if (output === "json") return printJson(rendered, 2);
  if (output === "yaml") return printYaml(rendered);
  return Object.entries(rendered)
    .map(
      ([section, resources]) =>
        `${section} (${resources.length})\n${resources.map((r) => `  ${String(r.clusterName ?? r.name ?? "")}\n`).join("")}`,
    )
    .join("");
}
