/** Objects of every kind that are wrong: what the API takes of them stays until it is healed. */
import { type KindRef, kindRef, kubeKinds } from "../../../src/kube/index.ts";
import { readList, readRecord } from "../../../src/lib/index.ts";
import { type KubeObject, kinds } from "../../../src/model/index.ts";
import { documents } from "../../evidence/mesh.ts";
import { mutateJson, randomJson } from "../../fuzz/mutate.ts";
import type { Random } from "../../random.ts";
import { istioKind } from "../objects.ts";
import { type Fault, must } from "./fault.ts";

const namespace = "bad";
const perKind = 6;
const words = [
  "hosts",
  "http",
  "route",
  "destination",
  "host",
  "port",
  "number",
  "name",
  "selector",
  "rules",
  "servers",
];

/** A few of each kind: examples with some of their values spoilt; without an example, anything at all. */
function badObjects(random: Random): readonly { readonly kind: KindRef; readonly object: KubeObject }[] {
  const examples = documents("specimens.yaml").flatMap((document) =>
    document.kind === "List" ? (readList(document.items) as readonly KubeObject[]) : [document],
  );
  return kinds.flatMap((kind) => {
    const specs = examples.filter((example) => example.kind === kind.kind).map(({ spec }) => spec);
    const spoil = (): unknown =>
      specs.length > 0 ? mutateJson(random, random.pick(specs), words) : randomJson(random, words);
    const ref = kindRef(kind);
    return Array.from({ length: perKind }, (_, i) => ({
      kind: ref,
      object: {
        apiVersion: `${ref.group}/${ref.version}`,
        kind: kind.kind,
        metadata: { name: `bad-${i}`, ...(ref.namespaced ? { namespace } : {}) },
        spec: spoil(),
      },
    }));
  });
}

/** Well formed as far as anybody but Envoy can see, which refuses the whole listener. */
const refusedByEnvoy: KubeObject = {
  apiVersion: "networking.istio.io/v1alpha3",
  kind: "EnvoyFilter",
  metadata: { name: "refused", namespace: "default" },
  spec: {
    workloadSelector: { labels: { app: "api" } },
    configPatches: [
      {
        applyTo: "HTTP_FILTER",
        match: {
          context: "SIDECAR_INBOUND",
          listener: { filterChain: { filter: { name: "envoy.filters.network.http_connection_manager" } } },
        },
        patch: {
          operation: "INSERT_BEFORE",
          value: {
            name: "broken",
            typed_config: {
              "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
              default_source_code: { inline_string: "this is ( no lua" },
            },
          },
        },
      },
    ],
  },
};

const isRefused = (object: KubeObject | undefined): boolean =>
  readList(readRecord(object?.status).conditions)
    .map(readRecord)
    .some(({ type, status }) => type === "Reconciled" && status === "False");

export const badObjectsFault: Fault = {
  name: "bad-objects",
  what: `${perKind} spoilt objects of each of ${kinds.length} kinds, and one that only Envoy refuses, for 5 s`,
  expected: "refused or left out; Envoy keeps what it has",
  ...{ holdMs: 5_000, touches: ["objects"], needs: ["api", "control-plane", "disk"] },
  async inject({ mesh: { api, supervisor }, random, tell }) {
    const plane = supervisor.controlPlanePid();
    const metadata = { name: namespace };
    await api.create(kubeKinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata }).catch(() => {});
    const all = [...badObjects(random), { kind: istioKind("EnvoyFilter"), object: refusedByEnvoy }];
    const taken: typeof all = [];
    for (const one of all)
      await api.create(one.kind, one.object).then(
        () => taken.push(one),
        () => {},
      );
    if (taken.length === 0) throw new Error("every object was refused: there is nothing to survive");
    tell(`${taken.length} of ${all.length} were taken`);
    return {
      async end() {
        const told = await api.find(istioKind("EnvoyFilter"), refusedByEnvoy.metadata);
        for (const { kind, object } of taken) await api.delete(kind, object.metadata).catch(() => {});
        must(isRefused(told), "the status of what Envoy refused does not say so");
        must(supervisor.controlPlanePid() === plane, "the control plane died of them");
      },
    };
  },
};
