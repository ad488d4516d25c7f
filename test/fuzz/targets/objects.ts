/** Targets that take JSON values: patches, apply, tables, selectors, admission, Istio's kinds, EnvoyFilter values. */
import { coreKinds } from "../../../src/apiserver/core-kinds.ts";
import { createDefinitions } from "../../../src/apiserver/definitions.ts";
import { parseFieldSet } from "../../../src/apiserver/field-set.ts";
import { parseJsonPath } from "../../../src/apiserver/json-path.ts";
import type { ApiKind } from "../../../src/apiserver/kind.ts";
import { applyManaged } from "../../../src/apiserver/managed-fields.ts";
import { unpaced } from "../../../src/apiserver/pace.ts";
import { applyJsonPatch } from "../../../src/apiserver/patch-json.ts";
import { mergePatch } from "../../../src/apiserver/patch-merge.ts";
import { strategicMerge } from "../../../src/apiserver/patch-strategic.ts";
import { parseRequest } from "../../../src/apiserver/request.ts";
import { selectorOf } from "../../../src/apiserver/selectors.ts";
import { tableOf } from "../../../src/apiserver/table.ts";
import { decode, reviewAdmissionText } from "../../../src/config/index.ts";
import { ListenerSchema } from "../../../src/gen/envoy/config/listener/v3/listener_pb.js";
import { type KubeObject, kinds } from "../../../src/model/index.ts";
import { loadAllTypes } from "../../../src/render/all-types.ts";
import { readMessage } from "../../../src/render/envoy-filter/read-message.ts";
import { evilKeys, mutateJson, mutateText, randomJson } from "../mutate.ts";
import { type Target, target } from "../target.ts";

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "a", namespace: "b", labels: { app: "x" }, annotations: {}, finalizers: ["f"] },
  spec: {
    containers: [
      { name: "c", image: "i", ports: [{ containerPort: 80, protocol: "TCP" }], env: [{ name: "A", value: "1" }] },
    ],
    tolerations: [{ key: "k", operator: "Exists" }],
    nodeName: "n",
  },
  status: {
    phase: "Running",
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: [{ ready: true, restartCount: 1 }],
  },
};
const keys = [
  "metadata",
  "spec",
  "status",
  "name",
  "labels",
  "containers",
  "ports",
  "$patch",
  "$setElementOrder/containers",
  "$retainKeys",
  "$deleteFromPrimitiveList/finalizers",
  "containerPort",
  "env",
  "conditions",
  "type",
];
const pointers = [
  "/spec/containers/0",
  "/spec/containers/-",
  "/metadata/labels/app",
  "",
  "/",
  "/a~1b",
  "/__proto__/x",
  "/constructor/prototype/x",
  "/spec/containers/01",
  "/spec",
];
const operations = ["add", "remove", "replace", "move", "copy", "test", "nonsense"];

/** Objects as the API holds them always have a name. */
const named = (value: unknown): KubeObject => {
  const { metadata, ...rest } = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const meta = typeof metadata === "object" && metadata !== null && !Array.isArray(metadata) ? metadata : {};
  return { apiVersion: "v1", kind: "Pod", ...rest, metadata: { ...meta, name: "a", namespace: "b" } } as KubeObject;
};

const specs: readonly unknown[] = [
  {
    hosts: ["a", "*.b"],
    http: [
      {
        match: [{ uri: { prefix: "/" } }],
        route: [{ destination: { host: "a" }, weight: 1 }],
        timeout: "5s",
        retries: { attempts: 2 },
      },
    ],
  },
  {
    host: "a",
    trafficPolicy: { connectionPool: { http: { maxRetries: 1 } }, tls: { mode: "SIMPLE" } },
    subsets: [{ name: "v1", labels: { a: "b" } }],
  },
  {
    selector: { matchLabels: { a: "b" } },
    action: "DENY",
    rules: [{ from: [{ source: { principals: ["*"] } }], when: [{ key: "k", values: ["v"] }] }],
  },
  {
    selector: { app: "x" },
    servers: [
      {
        port: { number: 80, name: "http", protocol: "HTTP" },
        hosts: ["*"],
        tls: { mode: "SIMPLE", credentialName: "c" },
      },
    ],
  },
  {
    configPatches: [
      {
        applyTo: "CLUSTER",
        match: { context: "ANY" },
        patch: { operation: "MERGE", value: { connect_timeout: "1s" } },
      },
    ],
  },
];
const specKeys = [
  "hosts",
  "http",
  "match",
  "route",
  "destination",
  "host",
  "port",
  "number",
  "tls",
  "mode",
  "rules",
  "selector",
  "weight",
  "timeout",
  "patch",
  "value",
];
const listener = {
  name: "l",
  address: { socket_address: { address: "0.0.0.0", port_value: 80 } },
  filter_chains: [
    {
      filters: [
        {
          name: "f",
          typed_config: {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
            stat_prefix: "s",
            idle_timeout: "1h",
          },
        },
      ],
    },
  ],
  per_connection_buffer_limit_bytes: "1024",
};

export async function objectTargets(): Promise<readonly Target[]> {
  const definitions = createDefinitions();
  const kindOf = (name: string): ApiKind => {
    const found = coreKinds.find(({ kind }) => kind === name);
    if (!found) throw new Error(name);
    return found;
  };
  const podKind = kindOf("Pod");
  const schema = definitions.schemaOf(podKind);
  const registry = await loadAllTypes();
  return [
    target({
      name: "json patch",
      input: (random) =>
        Array.from({ length: 1 + random.whole(12) }, () => ({
          op: random.pick(operations),
          path: random.pick(pointers),
          from: random.pick(pointers),
          ...(random.chance(0.8) ? { value: randomJson(random, keys) } : {}),
        })),
      run: (patch) => applyJsonPatch(pod, patch),
      growth: 4096,
    }),
    target({
      name: "merge patch",
      input: (random) => mutateJson(random, pod, keys),
      run: (patch) => mergePatch(pod, patch),
    }),
    target({
      name: "strategic merge",
      input: (random) => (random.chance(0.5) ? mutateJson(random, pod, keys) : randomJson(random, keys, 5)),
      run: (patch) => strategicMerge(definitions, schema, pod, patch),
    }),
    target({
      name: "server-side apply",
      input: (random) => ({
        live: named(mutateJson(random, pod, keys)),
        applied: named(mutateJson(random, pod, keys)),
        force: random.chance(0.5),
      }),
      run: async ({ live, applied, force }) => {
        const manager = {
          name: "m",
          operation: "Apply" as const,
          apiVersion: "v1",
          subresource: "",
          time: "2020-01-01T00:00:00Z",
        };
        const typed = { definitions, schema };
        const once = await applyManaged(typed, live, applied, manager, force);
        return await applyManaged(typed, once, applied, { ...manager, name: "n" }, true);
      },
    }),
    target({
      name: "field sets",
      input: (random) => randomJson(random, ["f:a", 'k:{"name":"x"}', "v:1", ".", "i:0", "f:metadata"]),
      run: async (json) => [...(await unpaced.run(parseFieldSet(json))).children.keys()],
    }),
    target({
      name: "tables",
      input: (random) => {
        const kind = random.pick(coreKinds);
        return {
          kind: kind.kind,
          object: named(mutateJson(random, { ...pod, ...(random.pick(specs) as object) }, [...keys, ...specKeys])),
        };
      },
      run: ({ kind, object }) =>
        tableOf(kindOf(kind), [object], { now: new Date(0), includeObject: "Object", columns: true, metadata: {} }),
    }),
    target({
      name: "field selectors",
      input: (random) =>
        mutateText(
          random,
          ["metadata.name=a,status.phase!=Running", "spec.nodeName==n"],
          [",", "=", "!=", ".", "\\", "metadata.name", "__proto__"],
        ),
      run: (text) =>
        selectorOf(podKind, new URLSearchParams({ fieldSelector: text, labelSelector: text }), "b")(named(pod)),
    }),
    target({
      name: "request paths",
      input: (random) =>
        mutateText(
          random,
          ["/api/v1/namespaces/a/pods/b/log?x=1", "/apis/apps/v1/deployments?watch=1", "/openapi/v3"],
          ["/", "..", "%2f", "%", "?", "#", "//", "namespaces", "\\", ";", "*"],
        ),
      run: (text) => ["GET", "POST", "PATCH", "DELETE", "OPTIONS"].map((method) => parseRequest(method, text)),
    }),
    target({
      name: "json paths",
      input: (random) =>
        mutateText(
          random,
          [".spec.a[0].b", ".status.conditions[?(@.type=='Ready')].status", ".metadata.labels['a.b']"],
          [".", "[", "]", "?(@.", "'", "*", "..", ")"],
        ),
      run: (text) => parseJsonPath(text) ?? "",
    }),
    target({
      name: "admission reviews",
      input: (random) => {
        const kind = random.pick(kinds);
        const object = {
          apiVersion: `${kind.group}/v1`,
          kind: kind.kind,
          metadata: { name: "a", namespace: "b" },
          spec: random.pick(specs),
        };
        const review = {
          apiVersion: "admission.k8s.io/v1",
          kind: "AdmissionReview",
          request: {
            uid: "u",
            operation: "CREATE",
            kind: { group: kind.group, version: "v1", kind: kind.kind },
            object,
          },
        };
        return JSON.stringify(mutateJson(random, review, specKeys)) ?? "";
      },
      run: (text) => reviewAdmissionText(text).review,
    }),
    target({
      name: "istio's kinds",
      input: (random) => ({
        kind: random.whole(kinds.length),
        raw: {
          metadata: { name: "a", namespace: "b" },
          spec: mutateJson(random, random.pick(specs), [...specKeys, ...evilKeys]),
        },
      }),
      run: ({ kind, raw }) => {
        const found = kinds[kind];
        return found ? decode(found, raw).problems : undefined;
      },
    }),
    target({
      name: "envoy filter values",
      input: (random) =>
        mutateJson(random, listener, [
          "name",
          "typed_config",
          "@type",
          "filters",
          "value",
          "type_url",
          "address",
          "idle_timeout",
        ]),
      run: (value) => {
        const read = readMessage(registry, ListenerSchema, value);
        return "error" in read ? read.error : read.leftOut;
      },
    }),
  ];
}
