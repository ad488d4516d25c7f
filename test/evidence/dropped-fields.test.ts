/** R47: objects that lack any one of their fields, and objects that are gone before anybody looked, stop nothing. */
import { expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { isRecord } from "../../src/lib/index.ts";
import { bytesOf, type KubeObject, types } from "../../src/model/index.ts";
import { createRenderer } from "../../src/render/index.ts";
import { createTrialMesh, documents } from "./mesh.ts";

/** By path, the value without the field or item there, for each at any depth. */
function* without(value: unknown, path = ""): Generator<readonly [path: string, rest: unknown]> {
  if (Array.isArray(value))
    for (const [i, item] of value.entries()) {
      yield [`${path}[]`, value.toSpliced(i, 1)];
      for (const [at, inner] of without(item, `${path}[]`)) yield [at, value.with(i, inner)];
    }
  else if (isRecord(value))
    for (const [name, item] of Object.entries(value)) {
      const { [name]: _, ...rest } = value;
      yield [`${path}.${name}`, rest];
      for (const [at, inner] of without(item, `${path}.${name}`)) yield [at, { ...value, [name]: inner }];
    }
}

const specimens = documents("specimens.yaml")
  .flatMap((document) => (document.kind === "List" ? ((document.items ?? []) as readonly KubeObject[]) : [document]))
  // The mesh's settings stand among them, and are no object.
  .filter(({ apiVersion }) => typeof apiVersion === "string");

function everythingSent(offline: ReturnType<typeof createOffline>): {
  readonly bytes: number;
  readonly faults: readonly string[];
} {
  const faults: string[] = [];
  let bytes = 0;
  const seen = new Set<string>();
  for (const proxy of offline.proxies()) {
    const proxyClass = offline.classOf(proxy);
    const key = JSON.stringify(proxyClass);
    if (seen.has(key)) continue;
    seen.add(key);
    const renderer = createRenderer(offline.mesh, proxyClass, {
      onFault: ({ name, error }) => faults.push(`${name}: ${String(error)}`),
    });
    for (const type of [types.cluster, types.endpoint, types.listener, types.route])
      for (const [, resource] of renderer.all(type)) bytes += bytesOf(resource).length;
    renderer.dispose();
  }
  return { bytes, faults: [...faults, ...offline.problems().filter((line) => line.includes("was left out"))] };
}

test("R47: every specimen without any one of its fields is served or left out, and nothing else is touched", {
  timeout: 300_000,
}, async () => {
  const mesh = await createTrialMesh();
  const failed: string[] = [];
  const tried = new Set<string>();
  for (const object of specimens)
    for (const [path, spec] of without(object.spec)) {
      const field = `${object.kind}${path}`;
      if (tried.has(field)) continue;
      tried.add(field);
      Array.from(mesh.rendered([{ ...object, spec } as KubeObject]));
      const [fault] = mesh.faults();
      if (fault !== undefined) failed.push(`without ${field}: ${fault}`);
    }
  expect(failed).toEqual([]);
  expect(tried.size).toBeGreaterThan(500);
});

test("R47: what is made and removed before anybody looks, a thousand times, leaves no trace", {
  timeout: 120_000,
}, () => {
  const offline = createOffline({ objects: documents("mesh.yaml") });
  const before = everythingSent(offline);
  const routes = specimens.filter(({ kind }) =>
    ["VirtualService", "ServiceEntry", "HTTPRoute", "Gateway"].includes(kind),
  );
  const dynamic: KubeObject = {
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name: "dynamic", namespace: "red" },
    spec: {
      hosts: ["*.dynamic.example.com"],
      resolution: "DYNAMIC_DNS",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    },
  };
  for (let i = 0; i < 1000; i++)
    offline.mesh.graph.change(() => {
      const object = i % 3 === 0 ? dynamic : routes[i % routes.length];
      if (!object) return;
      offline.source.apply([object]);
      offline.source.remove(object);
    });
  expect(before.faults).toEqual([]);
  expect(everythingSent(offline)).toEqual(before);
  offline.source.apply([dynamic]);
  expect(everythingSent(offline).faults).toEqual([]);
});
