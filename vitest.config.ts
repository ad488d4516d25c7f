import { spawnSync } from "node:child_process";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const works = (tool: string, ...args: readonly string[]): boolean =>
  spawnSync(tool, args, { timeout: 30_000 }).status === 0;
/** Debian's browser, as tests start it. */
const opensPages = (): boolean =>
  works("chromium", "--headless", "--no-sandbox", "--disable-dev-shm-usage", "--dump-dom", "about:blank");
/** A device for a file, and ext4 with its tools. */
const makesDisks = (): boolean => process.getuid?.() === 0 && works("losetup", "--find") && works("mkfs.ext4", "-V");

/**
 * Rooms of pure functions: their files load the same modules and leave nothing behind, so that they can share a process;
 * but for the one that looks at modules as they are first loaded.
 */
const rooms = "collections,config,explain,inject,lib,mesh,model,registry,render,translate";
const pure = [`src/{${rooms}}/**/!(all-types).test.ts`, "test/render/*.test.ts"];

/**
 * Whole meshes first, which take longest, then the files beside the code, then those that share a process: the last of all
 * are short, so that no processor is left without work while one long file ends.
 */
class WholeMeshesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const turn = ({ moduleId, project: { config } }: TestSpecification): number => {
      if (!config.isolate) return 2;
      return moduleId.startsWith(`${config.root}/src/`) ? 1 : 0;
    };
    return (await super.sort(files)).toSorted((a, b) => turn(a) - turn(b));
  }
}

// biome-ignore lint/style/noDefaultExport: vitest reads the default export
export default defineConfig({
  test: {
    pool: "forks",
    // One more than there are processors in CI: a third of the time, files wait for timers and other processes.
    maxWorkers: 3,
    sequence: { sequencer: WholeMeshesFirst },
    // Only what hangs should meet these: a machine may be busy with other things.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    reporters: ["default"],
    projects: [
      {
        extends: true,
        test: {
          name: "alone",
          include: ["src/**/*.test.ts", "test/**/*.test.ts", "demo/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: [
            ...pure,
            // Istio's own agent is a judge that is built elsewhere.
            ...(process.env.PILOT_AGENT ? [] : ["test/swap/pilot-agent.test.ts"]),
            // A minute under load, by itself: `npm run test:swap`.
            ...(process.env.FAIRLEAD_SWAP ? [] : ["test/swap/swap.test.ts"]),
            // A browser is installed where the system's packages have one; not every machine lets it run.
            ...(opensPages() ? [] : ["test/dashboard/{page,demo,large-mesh}.test.ts"]),
            // Not every machine lets one make disks, and nothing can be installed that would.
            ...(makesDisks() ? [] : ["src/apiserver/store-disk.test.ts"]),
          ],
          // Only `npm run test:cluster` has a cluster to prepare.
          globalSetup: process.env.FAIRLEAD_CLUSTER ? ["test/cluster/setup.ts"] : [],
        },
      },
      { extends: true, test: { name: "shared", isolate: false, include: pure } },
    ],
  },
});
