/** R24: nothing that a proxy of the two versions before this one is sent is newer than its Envoy. */
import { basename, join } from "node:path";
import { createRegistry, type DescMessage, fromJson, toBinary } from "@bufbuild/protobuf";
import {
  AnySchema,
  BoolValueSchema,
  DoubleValueSchema,
  DurationSchema,
  FloatValueSchema,
  StringValueSchema,
  StructSchema,
  UInt32ValueSchema,
  UInt64ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { olderEnvoys } from "../../scripts/envoy-path.mjs";
import { createOffline } from "../../src/control-plane/index.ts";
import { allFiles } from "../../src/gen/all.js";
import { ClusterSchema } from "../../src/gen/envoy/config/cluster/v3/cluster_pb.js";
import { loadObjects } from "../../src/kube/index.ts";
import { isRecord } from "../../src/lib/index.ts";
import { bytesOf, istioVersion, type KubeObject, type ResourceType, types } from "../../src/model/index.ts";
import { createEnvoyTypes, createRendering } from "../../src/render/index.ts";
import { casesIn, recordedCases } from "../conformance/corpus.ts";
import { smallMesh } from "../render/objects.ts";
import { renderProxy } from "../render/offline.ts";
import { findEnvoy, lacks } from "../require.ts";
import { addNamesIn } from "./names-in.ts";
import { envoyMinor, knownTo, newerThan, writable } from "./newer-fields.ts";

const registry = createRegistry(
  ...allFiles(),
  ...[AnySchema, BoolValueSchema, DoubleValueSchema, DurationSchema, FloatValueSchema],
  ...[StringValueSchema, StructSchema, UInt32ValueSchema, UInt64ValueSchema],
);
const served = [types.cluster, types.endpoint, types.listener, types.route, types.extension];
const older = olderEnvoys.map(({ istio }) => istio);

/** Istiod sends it to any version. An Envoy that does not know a field of what it discovers leaves it out. */
const ignored = ["envoy.config.cluster.v3.CircuitBreakers.Thresholds.RetryBudget#budget_interval"];
const withInterval: readonly KubeObject[] = [
  ...smallMesh(),
  {
    apiVersion: "networking.istio.io/v1",
    kind: "DestinationRule",
    metadata: { name: "web", namespace: "default" },
    spec: { host: "web", trafficPolicy: { retryBudget: { percent: 30, budgetInterval: "4s" } } },
  },
];

interface Input {
  readonly objects: readonly KubeObject[];
  readonly meshConfig?: Readonly<Record<string, unknown>>;
}

async function readCase(dir: string): Promise<Input> {
  let meshConfig: Readonly<Record<string, unknown>> | undefined;
  const loaded = await loadObjects([dir], {
    other(file, document) {
      if (basename(file) === "mesh.yaml" && isRecord(document)) meshConfig = document;
    },
  });
  return { objects: loaded.map(({ object }) => object), ...(meshConfig ? { meshConfig } : {}) };
}

const descOf = (type: ResourceType): DescMessage => {
  const desc = registry.getMessage(type.slice(type.lastIndexOf("/") + 1));
  if (!desc) throw new Error(`nobody knows ${type}`);
  return desc;
};

/** By version, all names in what each proxy of a case would be sent, had it that version. */
async function addSent(into: ReadonlyMap<string, Set<string>>, dir: string): Promise<void> {
  const offline = createOffline(await readCase(join(dir, "input")));
  const envoyTypes = createEnvoyTypes(offline.mesh.graph);
  await envoyTypes.load();
  const rendering = createRendering(offline.mesh, { envoyTypes });
  for (const [version, names] of into) {
    const seen = new Set<string>();
    for (const proxy of offline.proxies()) {
      const renderer = rendering.renderer(offline.classOf({ ...proxy, istioVersion: version }));
      for (const type of served)
        for (const [, resource] of renderer.all(type)) {
          if (seen.has(resource.hash)) continue;
          seen.add(resource.hash);
          addNamesIn(names, registry, descOf(type), bytesOf(resource));
        }
      renderer.dispose();
    }
  }
}

describe("R24: fields", () => {
  test("R24: what proxies of the two versions before are sent has no field that their Envoy lacks", {
    timeout: 120_000,
  }, async () => {
    expect(older.map((version) => envoyMinor(istioVersion) - envoyMinor(version))).toEqual([1, 2]);
    const sent = new Map([istioVersion, ...older].map((version) => [version, new Set<string>()] as const));
    for (const { dir } of casesIn(join(import.meta.dirname, "cases"), "input")) await addSent(sent, dir);
    // The recorded ones for the oldest alone, to whom most is news; each is asked for itself by `npm run older-envoys`.
    const oldest = new Map(
      [...sent].filter(([version]) => version === (process.env.FAIRLEAD_PROXY_VERSION ?? older.at(-1))),
    );
    for (const { dir } of recordedCases("xds", "input")) await addSent(oldest, dir);
    for (const version of older) {
      const newer = newerThan(version);
      expect([...(sent.get(version) ?? [])].filter((name) => newer.has(name) && !ignored.includes(name))).toEqual([]);
    }
  });

  test("R24: a field of an older Envoy's future is found, wherever it lies", async () => {
    const sent = new Set<string>();
    const { clusters } = await renderProxy({ objects: withInterval, istioVersion: older.at(-1) ?? "" });
    for (const json of clusters.values())
      addNamesIn(sent, registry, ClusterSchema, toBinary(ClusterSchema, fromJson(ClusterSchema, json, { registry })));
    expect([...sent].filter((name) => newerThan(older.at(-1) ?? "").has(name))).toEqual([...ignored]);
  });

  test.skipIf(lacks("envoy"))("R24: the table of newer fields is true of the Envoy at hand", () => {
    const version = process.env.FAIRLEAD_PROXY_VERSION ?? istioVersion;
    const known = knownTo(findEnvoy() ?? "");
    const newer = newerThan(version);
    expect(known.size).toBeGreaterThan(5000);
    expect([...newerThan("1.0.0")].filter((name) => known.has(name) === newer.has(name))).toEqual([]);
    // Only beside this version's own Envoy can be said what an older one lacks.
    const ownEnvoy = process.env.FAIRLEAD_OWN_ENVOY;
    if (ownEnvoy === undefined) return;
    const written = writable(registry);
    const lacking = [...knownTo(ownEnvoy)].filter((name) => written.has(name) && !known.has(name));
    expect(lacking.sort()).toEqual([...newer].sort());
  });
});
