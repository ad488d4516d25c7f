/** Files of expectations in; the outcome of each, and what no test touched, out. */
import { dirname } from "node:path";
import { askOf, decidersOf } from "../../control-plane/index.ts";
import { possibilities } from "../../explain/index.ts";
import { FairleadError } from "../../lib/index.ts";
import type { Profile } from "../../model/index.ts";
import { headersOf } from "../why/headers.ts";
import { objectsOfFiles } from "../why/input.ts";
import { openWhyMesh, type WhyMesh } from "../why/mesh.ts";
import { type Coverable, type Coverage, createCoverage } from "./coverage.ts";
import { judge } from "./judge.ts";
import type { TestCase, TestFile } from "./test-file.ts";

export interface TestOutcome {
  readonly file: string;
  readonly name: string;
  readonly ms: number;
  /** None where it is as expected. */
  readonly failures: readonly string[];
}

export interface TestRun {
  readonly outcomes: readonly TestOutcome[];
  readonly coverage: { readonly all: number; readonly untouched: readonly Coverable[] };
}

interface Prepared {
  readonly mesh: WhyMesh;
  readonly coverage: Coverage;
}

export async function runTests(
  files: readonly TestFile[],
  profile: Profile,
  monotonicMs: () => number,
): Promise<TestRun> {
  // Files about the same objects share a mesh.
  const meshes = new Map<string, Promise<Prepared>>();
  const outcomes: TestOutcome[] = [];
  for (const file of files) {
    const key = [file.namespace, ...file.objects].join("\n");
    const opened = meshes.get(key) ?? open(file, profile);
    meshes.set(key, opened);
    const prepared = await opened;
    for (const test of file.tests) {
      const start = monotonicMs();
      const failures = await runTest(test, file, prepared);
      outcomes.push({ file: file.file, name: test.name, ms: monotonicMs() - start, failures });
    }
  }
  const reports = await Promise.all([...meshes.values()].map(async (one) => (await one).coverage.report()));
  return {
    outcomes,
    coverage: {
      all: reports.reduce((sum, { all }) => sum + all, 0),
      untouched: reports.flatMap(({ untouched }) => untouched),
    },
  };
}

async function open({ objects, namespace }: TestFile, profile: Profile): Promise<Prepared> {
  const read = await objectsOfFiles(objects, namespace);
  return { mesh: await openWhyMesh(read, profile), coverage: createCoverage(read.written) };
}

/** A question that cannot be asked is a failure of the test, and the others go on. */
async function runTest(test: TestCase, file: TestFile, { mesh, coverage }: Prepared): Promise<readonly string[]> {
  const { request, expect } = test;
  try {
    const written = Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
    const ask = askOf({
      source: request.from,
      destination: request.to,
      namespace: file.namespace,
      headers: await headersOf(written, request.jwt, dirname(file.file)),
      ...(request.method === undefined ? {} : { method: request.method }),
      ...(request.sni === undefined ? {} : { sni: request.sni }),
      ...(request.address === undefined ? {} : { from: request.address }),
    });
    const { departure } = ask(mesh.explained);
    const found = possibilities(mesh.explained.world, departure);
    for (const { example } of found.outcomes)
      for (const step of example.steps) coverage.touch(decidersOf(step, mesh.sources));
    return judge(found, expect, mesh.sources);
  } catch (error) {
    if (!(error instanceof FairleadError)) throw error;
    return [error.hint === undefined ? error.message : `${error.message} (${error.hint})`];
  }
}
