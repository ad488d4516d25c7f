// Generates src/gen from the Envoy protos of the pinned dev package, our own small protos and the table
// proto/newer-types.json (what Envoy has beyond that package). Plain JavaScript: it runs before anything is built.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { generateKubeSchemas } from "./gen-kube-schemas.mjs";
import { finishGenerated } from "./proto/finish-generated.mjs";
import { addNewerTypes } from "./proto/newer-types.mjs";

export const root = fileURLToPath(new URL("..", import.meta.url));
const deps = join(root, "node_modules/@grpc/grpc-js-xds/deps");

/** The package ships some v2 protos without what they import: leave out every file that cannot be resolved. */
function dropOrphans(work) {
  const protos = readdirSync(work, { recursive: true }).filter((f) => f.endsWith(".proto"));
  const present = new Set(protos);
  const imports = new Map(
    protos.map((f) => [
      f,
      [...readFileSync(join(work, f), "utf8").matchAll(/^import (?:public )?"([^"]+)"/gm)].map((m) => m[1]),
    ]),
  );
  for (let changed = true; changed; ) {
    changed = false;
    for (const f of present) {
      const missing = imports.get(f).some((i) => !i.startsWith("google/protobuf/") && !present.has(i));
      if (missing || /^google\/api\/(service|expr\/v1beta1)/.test(f) || /\/v2(alpha\d*)?\//.test(f)) {
        present.delete(f);
        rmSync(join(work, f));
        changed = true;
      }
    }
  }
}

/** The package's rules of validation are older than its protos, which use this one. */
function mendRules(file) {
  const text = readFileSync(file, "utf8");
  writeFileSync(
    file,
    text.replace("message StringRules {", (line) => `${line}\n  optional bool ignore_empty = 26;`),
  );
}

const bin = join(root, "node_modules/.bin");

function buf(cwd, ...args) {
  const run = spawnSync(join(bin, "buf"), args, {
    cwd,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
  });
  if (run.status !== 0) throw new Error(`buf ${args[0]} failed`);
}

const image = "types.binpb";

/** The types of the pinned package and our own, as a descriptor set. */
export function pinnedTypes() {
  const work = join(root, ".cache/proto");
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  for (const part of [
    "envoy-api/envoy",
    "xds/xds",
    "xds/udpa",
    "protoc-gen-validate/validate",
    "googleapis/google/rpc",
    "googleapis/google/api",
  ])
    cpSync(join(deps, part), join(work, part.split("/").slice(1).join("/")), {
      recursive: true,
      filter: (f) => !/\.(bazel|go|md|yaml|json|cc|py|h|java|BUILD)$/.test(f),
    });
  cpSync(join(root, "proto"), work, { recursive: true });
  mendRules(join(work, "validate/validate.proto"));
  dropOrphans(work);
  writeFileSync(join(work, "buf.yaml"), "version: v2\n");
  buf(work, "build", "-o", image);
  return fromBinary(FileDescriptorSetSchema, readFileSync(join(work, image)));
}

function generate() {
  const types = pinnedTypes();
  addNewerTypes(types, JSON.parse(readFileSync(join(root, "proto/newer-types.json"), "utf8")));
  const work = join(root, ".cache/proto");
  writeFileSync(join(work, image), toBinary(FileDescriptorSetSchema, types));
  const out = join(root, "src/gen");
  writeFileSync(
    join(work, "buf.gen.yaml"),
    JSON.stringify({
      version: "v2",
      plugins: [{ local: "protoc-gen-es", out, strategy: "all", opt: ["target=js+dts", "import_extension=js"] }],
    }),
  );
  rmSync(out, { recursive: true, force: true });
  buf(work, "generate", image, "--template", "buf.gen.yaml", "--include-imports");
  finishGenerated(out);
  if (!existsSync(join(out, "envoy"))) throw new Error("no Envoy types were generated");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  generate();
  await generateKubeSchemas();
}
