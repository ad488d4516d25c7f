// Bundles the command line and the demo's servers into dist/, so that starting Fairlead transpiles nothing. A mesh may
// be running from dist/ while this runs: files are replaced whole, and parts that it may still load stay for a day.
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const demo = readdirSync(join(root, "demo")).filter((f) => f.endsWith(".ts") && !f.endsWith(".test.ts"));
const { outputFiles } = await build({
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
  write: false,
});

// What others refer to before what refers to it: `main.js` names the chunks.
const inChunks = ({ path }) => (path.includes("/chunks/") ? 0 : 1);
for (const { path, contents } of outputFiles.sort((a, b) => inChunks(a) - inChunks(b))) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, contents);
  renameSync(`${path}.new`, path);
}

const made = new Set(outputFiles.map(({ path }) => path));
const dayMs = 86_400_000;
for (const name of readdirSync(join(root, "dist"), { recursive: true })) {
  const file = join(root, "dist", name);
  const stat = statSync(file);
  if (stat.isFile() && !made.has(file) && Date.now() - stat.mtimeMs > dayMs) rmSync(file, { force: true });
}
