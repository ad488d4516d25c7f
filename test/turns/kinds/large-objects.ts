/** Each large object in; every way to write, read and remove it, one after the other, out. */
import { type Measured, numbered, repeat } from "../kind.ts";
import type { World } from "../world.ts";
import { type LargeObject, objects } from "./objects.ts";

const json = "application/json-patch+json";
const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const apply = "application/apply-patch+yaml";

export function* largeObjects(world: World): Generator<Measured> {
  for (const object of objects) yield* ways(world, object);
}

function* ways(world: World, { name, id, path, apiVersion, kind, make }: LargeObject): Generator<Measured> {
  const made = make();
  const own = String(made.metadata?.name ?? id);
  const body = { apiVersion, kind, ...made, metadata: { ...made.metadata, name: own } };
  const one = `${path}/${own}`;
  const isCustom = /^(networking|security|telemetry|gateway)\./.test(apiVersion);
  const withLabels = (labels: object): object => ({ ...body, metadata: { ...body.metadata, labels } });
  const asked = (how: string, method: string, at: string, sent?: () => unknown, type?: string): Measured => ({
    name: `${name}, ${how}`,
    of: "api",
    run: async () => said(await world.call(method, at, sent?.(), type)),
  });
  let read: Readonly<Record<string, unknown>> = {};
  yield asked("created", "POST", path, () => body);
  yield asked("created as YAML", "POST", `${path}?dryRun=All`, () => JSON.stringify(body), "application/yaml");
  yield {
    name: `${name}, read`,
    of: "api",
    run: async () => {
      const answer = await world.call("GET", one);
      read = answer.body;
      return said(answer);
    },
  };
  yield asked("replaced", "PUT", one, () => ({ ...read, ...withLabels({ changed: "yes" }) }));
  yield asked("merged", "PATCH", `${one}?fieldManager=m`, () => withLabels({ m: "1" }), merge);
  if (!isCustom)
    yield asked("merged by kind", "PATCH", `${one}?fieldManager=s`, () => withLabels({ s: "1" }), strategic);
  const steps = repeat(10_000, (i) => ({ op: "add", path: "/metadata/labels/j", value: `v${i}` }));
  yield asked("patched 10,000 times", "PATCH", `${one}?fieldManager=j`, () => steps, json);
  yield asked("applied", "PATCH", `${one}?fieldManager=a&force=true`, () => body, apply);
  yield asked("applied again", "PATCH", `${one}?fieldManager=a&force=true`, () => withLabels({ x: "1" }), apply);
  yield asked("applied by another", "PATCH", `${one}?fieldManager=b`, () => body, apply);
  const conditions = repeat(5_000, (i) => ({
    type: `T${i}`,
    status: "True",
    reason: "a",
    message: "b",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }));
  yield asked("its status", "PATCH", `${one}/status?fieldManager=st`, () => ({ status: { conditions } }), merge);
  yield asked("with 5,000 unknown fields", "PUT", `${one}?fieldValidation=Strict`, () => ({
    ...read,
    ...numbered(5_000, 1),
  }));
  yield asked("listed", "GET", path);
  yield asked("deleted", "DELETE", one, () => ({ propagationPolicy: "Background" }));
}

function said({ code, body }: { readonly code: number; readonly body: Readonly<Record<string, unknown>> }): string {
  return code < 400 ? String(code) : `${code} ${String(body.message)}`;
}
