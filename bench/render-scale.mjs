// What `render --all` costs for a scale scenario, from a cold start of the process, and what of it is rendering.
// node bench/render-scale.mjs SCENARIO.yaml [runs=5]
// SCENARIO: the output of scale_scenario.py --services 1000 --pods 1, for example.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
/** As the `fairlead` launcher starts it. */
const flags = ["--min-semi-space-size=16", "--max-semi-space-size=32"];

/** In a process of its own, so that nothing is warm: each stage as `render` goes through them, in processor time of the main thread. */
async function phases(scenario) {
  const { loadObjects } = await import("../src/kube/index.ts");
  const { createOffline } = await import("../src/control-plane/index.ts");
  const { createJsonPrinter, createRenderer } = await import("../src/render/index.ts");
  const { bytesOf, types } = await import("../src/model/index.ts");
  const times = {};
  const timed = async (name, work) => {
    const before = process.threadCpuUsage();
    const value = await work();
    const { user, system } = process.threadCpuUsage(before);
    times[name] = (user + system) / 1000;
    return value;
  };
  const objects = await timed("read", async () => (await loadObjects([scenario])).map(({ object }) => object));
  const offline = await timed("stages", () => createOffline({ objects }));
  const [proxy] = await timed("proxies", () => offline.proxies());
  const renderer = createRenderer(offline.mesh, offline.classOf(proxy));
  for (const [name, type] of Object.entries(types)) await timed(`render ${name}`, () => renderer.all(type));
  const print = createJsonPrinter();
  await timed("print", () => {
    for (const type of Object.values(types))
      for (const resource of renderer.all(type).values()) JSON.stringify(print(type, bytesOf(resource)), null, 1);
  });
  process.stdout.write(JSON.stringify(times));
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function bench(scenario, runs) {
  const out = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  const cold = [];
  const stages = [];
  for (let i = 0; i < runs; i++) {
    const started = performance.now();
    const args = [...flags, join(root, "dist/main.js"), "render", "-f", scenario, "--all", "--out", out];
    const run = spawnSync(process.execPath, args, { encoding: "utf8" });
    if (run.status !== 0) throw new Error(run.stderr);
    cold.push(performance.now() - started);
    const inside = spawnSync(process.execPath, [...flags, import.meta.filename, "--phases", scenario], {
      encoding: "utf8",
    });
    if (inside.status !== 0) throw new Error(inside.stderr);
    stages.push(JSON.parse(inside.stdout));
  }
  rmSync(out, { recursive: true, force: true });
  const say = (name, values) =>
    process.stdout.write(
      `${name.padEnd(18)} ${median(values).toFixed(0).padStart(6)} ms (best ${Math.min(...values).toFixed(0)})\n`,
    );
  say("cold start to end", cold);
  for (const name of Object.keys(stages[0]))
    say(
      `  ${name}`,
      stages.map((times) => times[name]),
    );
  const rendering = stages.map((times) =>
    Object.entries(times).reduce((sum, [name, ms]) => sum + (name.startsWith("render") ? ms : 0), 0),
  );
  say("rendering", rendering);
}

const [first, second] = process.argv.slice(2);
if (first === "--phases") await phases(second);
else if (first) bench(first, Number(second ?? 5));
else {
  process.stderr.write("give the file of a scenario\n");
  process.exitCode = 2;
}
