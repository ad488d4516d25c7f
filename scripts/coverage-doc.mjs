// Writes docs/reference/coverage.md from the schemas, the table of fields that are not honoured, and what was seen when
// each field was changed (test/evidence); with --check it only says whether the file is up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { unhonouredReasons, unhonouredValues } from "../src/config/unhonoured.ts";
import { istioKinds, meshConfigSpec, meshNetworksSpec, proxyConfigValues } from "../src/model/index.ts";
import { defaultConfigKind, findEvidence } from "../test/evidence/evidence.ts";
import { fieldsOf } from "../test/evidence/fields.ts";

const file = fileURLToPath(new URL("../docs/reference/coverage.md", import.meta.url));

/** In the order in which users meet them. */
const order = [
  ...["VirtualService", "DestinationRule", "Gateway", "ServiceEntry", "WorkloadEntry", "WorkloadGroup", "Sidecar"],
  ...["ProxyConfig", "EnvoyFilter", "PeerAuthentication", "RequestAuthentication", "AuthorizationPolicy"],
  ...["Telemetry", "WasmPlugin", "TrafficExtension"],
];

const elsewhere = new Map([[proxyConfigValues, "[ProxyConfig of the mesh](#proxyconfig-of-the-mesh)"]]);

function sections() {
  const kinds = order.map((name) => {
    const kind = istioKinds.find((candidate) => candidate.kind === name);
    if (!kind) throw new Error(`there is no kind ${name}`);
    return { title: name, fields: [...fieldsOf(kind.spec)] };
  });
  const missing = istioKinds.filter((kind) => !order.includes(kind.kind));
  if (missing.length > 0) throw new Error(`not listed: ${missing.map((kind) => kind.kind).join(", ")}`);
  return [
    ...kinds,
    { title: "MeshConfig", fields: [...fieldsOf(meshConfigSpec, "", new Map(elsewhere))] },
    {
      title: defaultConfigKind,
      fields: [...fieldsOf(proxyConfigValues)],
      intro: "`defaultConfig` of MeshConfig, and the annotation `proxy.istio.io/config`.",
    },
    { title: "MeshNetworks", fields: [...fieldsOf(meshNetworksSpec)] },
  ];
}

function formatSection({ title, fields, intro }, seen) {
  const states = fields.map((field) => stateOf(title, field, seen));
  const count = (state) => states.filter((one) => one === state).length;
  const sum = [
    `${fields.length} fields`,
    `${count("yes")} seen to be honoured`,
    `${count("no")} not honoured`,
    `${count("unseen")} without evidence`,
  ];
  const rows = fields.map((field, i) => `| \`${field.path}\` | ${states[i]} | ${noteOf(title, field, states[i])} |`);
  const head = [`## ${title}\n`, ...(intro ? [`${intro}\n`] : []), `${sum.join(", ")}.\n`];
  return [...head, "| field | honoured | why not, or where else described |", "|---|---|---|", ...rows, ""].join("\n");
}

const elsewhereTarget = "refused as by Istio: what is meant stands in the namespace of the object";

const tracingFiles = "Istio does not act on it either: the bootstrap's tracer has certificates in files only";

/** Where a message is used twice and one of its fields is of no use in one place, as with Istio; by kind and path. */
const useless = new Map([
  ["MeshConfig meshMTLS.ecdhCurves", "refused as by Istio: mutual TLS of the mesh has fixed curves"],
  ["WorkloadGroup template.address", "Istio does not act on it either: a workload's address is where it comes from"],
  ...["probe.grpc", "probe.grpc.port", "probe.grpc.service"].map((path) => [
    `WorkloadGroup ${path}`,
    "refused as by Istio: its webhook does not know this way to probe; `defaultConfig` may have it",
  ]),
  ...["RequestAuthentication", "AuthorizationPolicy", "Telemetry", "WasmPlugin"].map((kind) => [
    `${kind} targetRef.namespace`,
    elsewhereTarget,
  ]),
  ["TrafficExtension targetRefs[].namespace", elsewhereTarget],
  [
    "Sidecar ingress[].connectionPool.http.h2UpgradePolicy",
    "Istio does not act on it either: it is for what a proxy calls, not for what calls it",
  ],
  ...["credentialName", "insecureSkipVerify", "caCrl"].map((name) => [
    `${defaultConfigKind} tracing.tlsSettings.${name}`,
    tracingFiles,
  ]),
]);

function stateOf(title, { path, reason }, seen) {
  if (seen.has(path)) return "yes";
  return reason || useless.has(`${title} ${path}`) ? "no" : "unseen";
}

function noteOf(title, { path, message, name, reason, as }, state) {
  if (state === "no" && !reason) return useless.get(`${title} ${path}`);
  if (reason) return unhonouredReasons[reason];
  const except = [...unhonouredValues(message, name)].map(
    ([value, why]) => `not \`${value}\`: ${unhonouredReasons[why]}`,
  );
  return [...except, ...(as === undefined ? [] : [`as ${as}`])].join("; ");
}

async function text() {
  const all = sections();
  const evidence = await findEvidence(
    all.map(({ title, fields }) => ({
      kind: title,
      paths: new Set(fields.filter(({ reason }) => !reason).map(({ path }) => path)),
    })),
  );
  return [
    "# Which fields are honoured\n",
    "Made by `npm run docs`; a test makes it again and fails when anything differs.\n",
    "- **yes**: in a small mesh ([test/evidence](../../test/evidence)) two valid values of this field alone made the configuration of some proxy differ (what is valid only together, such as a target's group and kind, is changed together); of a ProxyConfig also its agent's options, its Envoy's bootstrap or flags, how its workload is probed, or its injected Pod; of a WorkloadGroup also the settings of its machines, what their agents make of these, and the WorkloadEntry of one that registers itself; of a RequestAuthentication also which key sets are fetched, and how; of MeshConfig also an injected Pod, and the roots that proxies believe or somebody is asked for.",
    "- **no**: nothing acts on it, for the reason given. Using it draws the warning FLD0001 in `fairlead analyze` and on the object's status (`src/config/unhonoured.ts`); not where the reason is of this place only, such as that it is refused there.",
    "- **unseen**: no change of it was seen to change anything. A test fails where there is one.\n",
    "Own codes: FLD0001, a field that is not honoured; FLD0002, a route whose delegate is missing, no delegate, or not exported; FLD0005, an AuthorizationPolicy by who is calling, where clients without mutual TLS, who are nobody, get past it; FLD0007, a VirtualService that routes a host of another namespace for the mesh; FLD0008, a credential of a Gateway or DestinationRule whose certificate ends soon; FLD0009, one that cannot be used; on statuses also FLD0003, a field that nobody knows, FLD0004, a patch of an EnvoyFilter that was skipped, and FLD0006, something that an Envoy refused.\n",
    ...all.map((section) => formatSection(section, evidence.get(section.title))),
  ].join("\n");
}

const made = await text();
if (!process.argv.includes("--check")) writeFileSync(file, made);
else if (readFileSync(file, "utf8") !== made) {
  const listed = new Set(readFileSync(file, "utf8").split("\n"));
  const news = made.split("\n").filter((line) => !listed.has(line));
  console.error(`docs/reference/coverage.md is stale: run npm run docs. It lacks:\n${news.slice(0, 20).join("\n")}`);
  process.exitCode = 1;
}
