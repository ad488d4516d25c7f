import { defineConfig } from "vitest/config";

// biome-ignore lint/style/noDefaultExport: vitest reads the default export
export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "demo/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // On a shared machine one late process must not cost a landing; what needed a second try is told by scripts/test.mjs.
    retry: process.env.CI ? 1 : 0,
    reporters: ["default"],
  },
});
