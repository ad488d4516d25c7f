import { defineConfig } from "vitest/config";

// biome-ignore lint/style/noDefaultExport: vitest reads the default export
export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "demo/**/*.test.ts", "bench/**/*.test.ts"],
    // Only `npm run test:cluster` has a cluster to prepare.
    globalSetup: process.env.FAIRLEAD_CLUSTER ? ["test/cluster/setup.ts"] : [],
    pool: "forks",
    maxWorkers: 2,
    // Only what hangs should meet these: a machine may be busy with other things.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    reporters: ["default"],
  },
});
