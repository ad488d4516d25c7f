// Writes docs/reference/coverage.md from the schemas and the table of fields that are not honoured; with --check it
// only says whether the file is up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { unhonouredReason, unhonouredReasons, unhonouredValues } from "../src/config/unhonoured.ts";
import { istioKinds, meshConfigSpec, meshNetworksSpec, proxyConfigValues } from "../src/model/index.ts";

const file = fileURLToPath(new URL("../docs/reference/coverage.md", import.meta.url));

/** In the order in which users meet them. */
const order = [
  ...["VirtualService", "DestinationRule", "Gateway", "ServiceEntry", "WorkloadEntry", "WorkloadGroup", "Sidecar"],
  ...["ProxyConfig", "EnvoyFilter", "PeerAuthentication", "RequestAuthentication", "AuthorizationPolicy"],
  ...["Telemetry", "WasmPlugin", "TrafficExtension"],
];

function section(title, schema, intro = "", known = new Map()) {
  const rows = [...rowsOf(schema, "", known)];
  const no = rows.filter((row) => row.state === "no").length;
  const head = `## ${title}\n\n${intro === "" ? "" : `${intro}\n\n`}${rows.length} fields, ${no} of them not honoured.\n`;
  return `${head}\n| field | honoured | why not, or where else described |\n|---|---|---|\n${rows.map(formatRow).join("\n")}\n`;
}

const formatRow = ({ path, state, note }) => `| \`${path}\` | ${state} | ${note} |`;

/** A message that is used in several places is listed at the first. */
function* rowsOf(schema, path, known) {
  if (schema.type === "array") return yield* rowsOf(schema.items, `${path}[]`, known);
  if (schema.type === "map") return yield* rowsOf(schema.values, `${path}.*`, known);
  if (schema.type !== "object") return;
  for (const [name, child] of Object.entries(schema.fields)) yield* fieldRows(schema, name, child, path, known);
}

function* fieldRows(schema, name, child, path, known) {
  const at = path === "" ? name : `${path}.${name}`;
  const reason = unhonouredReason(schema, name);
  if (reason) return yield { path: at, state: "no", note: unhonouredReasons[reason] };
  const message = messageOf(child);
  const first = message && known.get(message);
  const except = [...unhonouredValues(schema, name)].map(
    ([value, why]) => `not \`${value}\`: ${unhonouredReasons[why]}`,
  );
  const notes = [...except, ...(first === undefined ? [] : [`as ${first}`])];
  yield { path: at, state: "yes", note: notes.join("; ") };
  if (first !== undefined) return;
  if (message) known.set(message, `\`${at}\``);
  yield* rowsOf(child, at, known);
}

/** The object that a field holds, in whatever lists and maps. */
function messageOf(schema) {
  if (schema.type === "array") return messageOf(schema.items);
  if (schema.type === "map") return messageOf(schema.values);
  return schema.type === "object" && Object.keys(schema.fields).length > 0 ? schema : undefined;
}

function text() {
  const kinds = order.map((name) => {
    const kind = istioKinds.find((candidate) => candidate.kind === name);
    if (!kind) throw new Error(`there is no kind ${name}`);
    return section(name, kind.spec);
  });
  const missing = istioKinds.filter((kind) => !order.includes(kind.kind));
  if (missing.length > 0) throw new Error(`not listed: ${missing.map((kind) => kind.kind).join(", ")}`);
  return [
    "# Which fields are honoured\n",
    "Made by `node scripts/coverage-doc.mjs` from the schemas and from `src/config/unhonoured.ts`; a test fails when it is stale.",
    "A field that is used and not honoured draws the warning FLD0001 in `fairlead analyze` and on the object's status.",
    "Own codes: FLD0001, a field that is not honoured; FLD0002, a route whose delegate is missing, no delegate, or not exported; FLD0005, an AuthorizationPolicy by who is calling, where clients without mutual TLS, who are nobody, get past it; on statuses also FLD0003, a field that nobody knows, and FLD0004, a patch of an EnvoyFilter that was skipped.\n",
    ...kinds,
    section(
      "MeshConfig",
      meshConfigSpec,
      "",
      new Map([[proxyConfigValues, "[ProxyConfig of the mesh](#proxyconfig-of-the-mesh)"]]),
    ),
    section(
      "ProxyConfig of the mesh",
      proxyConfigValues,
      "`defaultConfig` of MeshConfig, and the annotation `proxy.istio.io/config`.",
    ),
    section("MeshNetworks", meshNetworksSpec),
  ].join("\n");
}

const made = text();
if (!process.argv.includes("--check")) writeFileSync(file, made);
else if (readFileSync(file, "utf8") !== made) {
  console.error("docs/reference/coverage.md is stale: run node scripts/coverage-doc.mjs");
  process.exitCode = 1;
}
