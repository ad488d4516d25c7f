// Bundles the command line and the demo's servers into dist/, so that starting Fairlead transpiles nothing. A mesh may
// be running from dist/ while this runs: files are replaced whole, and parts that it may still load stay for a day.
// `--clean` removes those too, for a package.
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { directImports } from "./direct-imports.mjs";
import { bundledPackages, notices } from "./notices.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const demo = readdirSync(join(root, "demo")).filter((f) => f.endsWith(".ts") && !f.endsWith(".test.ts"));
const { outputFiles, metafile } = await build({
  absWorkingDir: root,
  entryPoints: [
    { in: "src/cli/main.ts", out: "main" },
    // Beside the chunk that starts it as a thread.
    { in: "src/control-plane/review-worker.ts", out: "chunks/review-worker" },
    { in: "src/control-plane/diff/shadow-worker.ts", out: "chunks/shadow-worker" },
    { in: "src/control-plane/edits/read-worker.ts", out: "chunks/read-worker" },
    ...demo.map((f) => ({ in: `demo/${f}`, out: `demo/${f.replace(/\.ts$/, "")}` })),
  ],
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node24",
  sourcemap: "linked",
  // Lines are told by number; the sources themselves would be two thirds of what is shipped.
  sourcesContent: false,
  metafile: true,
  external: ["lmdb"],
  plugins: [directImports()],
  chunkNames: "chunks/[name]-[hash]",
  // Some packages are CommonJS and ask for `require` at run time.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
  logLevel: "warning",
  write: false,
});

// The page runs in a browser, so it is built apart.
const page = await build({
  absWorkingDir: root,
  entryPoints: [
    { in: "src/dashboard/page/main.tsx", out: "app" },
    { in: "src/dashboard/page/style.css", out: "app" },
    { in: "src/dashboard/page/index.html", out: "index" },
    { in: "src/dashboard/page/icon.svg", out: "icon" },
  ],
  outdir: "dist/dashboard",
  bundle: true,
  minify: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  loader: { ".html": "copy", ".svg": "copy" },
  metafile: true,
  logLevel: "warning",
  write: false,
});

const inputs = [metafile, page.metafile].flatMap((part) => Object.keys(part.inputs));
const packages = bundledPackages(root, inputs);
const licences = { path: join(root, "dist/THIRD-PARTY.txt"), contents: notices(packages) };
// What belongs to this build, for whoever ships it: earlier parts may lie beside.
const list = {
  path: join(root, "dist/bundle.json"),
  contents: JSON.stringify({
    files: [metafile, page.metafile]
      .flatMap((part) => Object.keys(part.outputs))
      .map((path) => path.slice("dist/".length)),
    packages: packages.map(({ name }) => name),
  }),
};
// What others refer to before what refers to it: `main.js` names the chunks.
const inChunks = ({ path }) => (path.includes("/chunks/") ? 0 : 1);
const files = [licences, list, ...outputFiles, ...page.outputFiles].sort((a, b) => inChunks(a) - inChunks(b));
for (const { path, contents } of files) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, contents);
  renameSync(`${path}.new`, path);
}

// Parts that stay are for a mesh that runs; a package that is made without its scripts leaves them out, too.
const unpacked = join(root, "dist/.npmignore");
const made = new Set([...files.map(({ path }) => path), unpacked]);
const keepMs = process.argv.includes("--clean") ? 0 : 86_400_000;
const kept = [];
for (const name of readdirSync(join(root, "dist"), { recursive: true })) {
  const file = join(root, "dist", name);
  const stat = statSync(file);
  if (!stat.isFile() || made.has(file)) continue;
  if (Date.now() - stat.mtimeMs >= keepMs) rmSync(file, { force: true });
  else kept.push(`/${name}\n`);
}
writeFileSync(unpacked, kept.join(""));
