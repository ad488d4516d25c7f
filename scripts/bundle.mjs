// Bundles the command line and the demo's servers into dist/, so that starting Fairlead transpiles nothing.
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const demo = readdirSync(join(root, "demo")).filter((f) => f.endsWith(".ts") && !f.endsWith(".test.ts"));
rmSync(join(root, "dist"), { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: [
    { in: "src/cli/main.ts", out: "main" },
    ...demo.map((f) => ({ in: `demo/${f}`, out: `demo/${f.replace(/\.ts$/, "")}` })),
  ],
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node24",
  sourcemap: "linked",
  external: ["lmdb"],
  chunkNames: "chunks/[name]-[hash]",
  // Some packages are CommonJS and ask for `require` at run time.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
  logLevel: "warning",
});
