/**
 * Every recorded case, and some of our own that lie beside this file, rendered for a stock Envoy, is accepted by one: all of it, with nothing
 * left to discovery. Each refusal is told with the resource that draws it.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runProgram } from "../../src/cli/program.ts";
import { casesIn, type RecordedCase, recordedCases } from "../conformance/corpus.ts";
import { createStaticSecrets } from "../render/static-secrets.ts";
import { lacks } from "../require.ts";
import { bootstrapOf, inlineClusters, inlineListeners, type RenderedFiles } from "./inline.ts";
import type { Json } from "./json.ts";
import { validate } from "./validate.ts";

const parallel = 2;
/** Where an older Envoy is asked, the version of Istio that it stands for. */
const proxyVersion = process.env.FAIRLEAD_PROXY_VERSION;

describe.skipIf(lacks("envoy"))("a stock Envoy", () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-validate-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  test("accepts each of our own cases", { timeout: 300_000 }, async () => {
    const refusals = await refusalsOf(dir, casesIn(join(import.meta.dirname, "cases"), "input"));
    expect(refusals).toEqual([]);
  });

  test("accepts each recorded case", { timeout: 300_000 }, async () => {
    // Its EnvoyFilter puts a filter behind the router; istiod sends that too.
    const byDesign = /^envoyfilter-filter-class-and-add\/.*must be the last filter/;
    const refusals = await refusalsOf(dir, recordedCases("xds", "input"));
    expect(refusals.filter((refusal) => !byDesign.test(refusal))).toEqual([]);
  });

  test("is asked about everything: one wrong route, endpoint or filter is refused by name", async () => {
    const [files] = (await renderCase(dir, join(import.meta.dirname, "cases/sidecar/input"))).values();
    if (!files) throw new Error("no proxy in the case");
    const withSecrets = await createStaticSecrets();
    const verdict = (change: Partial<RenderedFiles>) => judge(dir, { ...files, ...change }, withSecrets);
    const [route] = files.routes.filter(({ name }) => name === "80");
    expect(
      await verdict({ routes: [...files.routes, { ...route, virtualHosts: [{ name: "x", domains: [] }] }] }),
    ).toEqual([expect.stringMatching(/^listener 0.0.0.0_80: .*Domains/)]);
    const [first, ...others] = files.endpoints;
    expect(await verdict({ endpoints: [{ ...first, endpoints: [{ priority: 999 }] }, ...others] })).toEqual([
      expect.stringMatching(/^cluster outbound\|80\|\|web.*Priority/),
    ]);
    const [listener, ...rest] = files.listeners;
    expect(await verdict({ listeners: [{ ...listener, listenerFilters: [{ name: "none" }] }, ...rest] })).toEqual([
      expect.stringMatching(`^listener ${listener.name}: .*none`),
    ]);
  });
});

async function refusalsOf(dir: string, cases: readonly RecordedCase[]): Promise<readonly string[]> {
  expect(cases.length).toBeGreaterThan(0);
  const withSecrets = await createStaticSecrets();
  const queue: { id: string; files: RenderedFiles }[] = [];
  for (const { name, dir: input } of cases)
    for (const [proxy, files] of await renderCase(dir, join(input, "input")))
      queue.push({ id: `${name}/${proxy}`, files });
  const refusals: string[] = [];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { id, files } = next;
      refusals.push(...(await judge(dir, files, withSecrets)).map((refusal) => `${id}: ${refusal}`));
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return refusals.sort();
}

async function renderCase(dir: string, input: string): Promise<ReadonlyMap<string, RenderedFiles>> {
  const out = join(dir, "rendered");
  rmSync(out, { recursive: true, force: true });
  let errors = "";
  const io = {
    env: {},
    cwd: process.cwd(),
    out: () => {},
    err: (text: string) => {
      errors += text;
    },
    tty: false,
    signal: AbortSignal.timeout(60_000),
  };
  const args = ["render", "-f", input, "--all", "--profile", "envoy", "--out", out];
  const status = await runProgram([...args, ...(proxyVersion ? ["--proxy-version", proxyVersion] : [])], io);
  if (status !== 0 || errors.includes("fault:")) throw new Error(`${input} cannot be rendered: ${errors}`);
  const read = (proxy: string, section: string): readonly Json[] => {
    const file = join(out, proxy, `${section}.json`);
    return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
  };
  return new Map(
    readdirSync(out).map((proxy) => [
      proxy,
      {
        clusters: read(proxy, "clusters"),
        listeners: read(proxy, "listeners"),
        routes: read(proxy, "routes"),
        endpoints: read(proxy, "endpoints"),
        ecds: read(proxy, "ecds"),
      },
    ]),
  );
}

/** All at once; only where that is refused, one by one, to name the resources and to find more than the first. */
async function judge(dir: string, files: RenderedFiles, withSecrets: (json: Json) => Json): Promise<readonly string[]> {
  const clusters: readonly Json[] = withSecrets(inlineClusters(files));
  const listeners: readonly Json[] = withSecrets(inlineListeners(files));
  const whole = await validate(dir, bootstrapOf(clusters, listeners));
  if (whole === undefined) return [];
  const refusals: string[] = [];
  const ask = async (kind: string, resource: Json, bootstrap: Json): Promise<void> => {
    const said = await validate(dir, bootstrap);
    if (said !== undefined) refusals.push(`${kind} ${resource.name}: ${said}`);
  };
  for (const cluster of clusters) await ask("cluster", cluster, bootstrapOf([cluster], []));
  // Listeners may name clusters that Envoy looks up at once: empty ones of the same names will do.
  const stubs = clusters.map(({ name }) => ({ name, type: "STATIC" }));
  for (const listener of listeners) await ask("listener", listener, bootstrapOf(stubs, [listener]));
  return refusals.length > 0 ? refusals : [whole];
}
