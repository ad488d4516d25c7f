// A plugin for esbuild: an import of names from a room's `index.ts` becomes imports from the files that define them.
// Splitting goes by files, so that without this every command would load all of each room that it takes one name from.
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";

const fromIndex = /^import \{([^}]*)\} from "([^"]+\/index\.ts)";/gm;
const reExport = /^export \{([^}]*)\} from "([^"]+)";/gm;

const names = (/** @type {string} */ list) =>
  list
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

export function directImports() {
  /** @type {Map<string, Promise<ReadonlyMap<string, string>>>} */
  const indexes = new Map();
  const filesOf = (/** @type {string} */ index) => {
    const known = indexes.get(index) ?? readIndex(index);
    indexes.set(index, known);
    return known;
  };
  return {
    name: "direct-imports",
    setup(/** @type {import("esbuild").PluginBuild} */ build) {
      build.onLoad({ filter: /\/(src|demo)\/.*\.ts$/ }, async ({ path }) => {
        const text = await readFile(path, "utf8");
        /** @type {Map<string, ReadonlyMap<string, string>>} */
        const known = new Map();
        for (const [, , index = ""] of text.matchAll(fromIndex)) {
          const file = resolve(dirname(path), index);
          known.set(index, await filesOf(file));
        }
        const contents = text.replace(fromIndex, (whole, list, index) => rewrite(whole, list, index, known.get(index)));
        return { contents, loader: "ts" };
      });
    },
  };
}

/**
 * The name of each export, with the file that it comes from.
 * @param {string} index
 */
async function readIndex(index) {
  const text = await readFile(index, "utf8");
  const entries = [...text.matchAll(reExport)].flatMap(([, list = "", file = ""]) =>
    names(list).map((name) => /** @type {const} */ ([name, resolve(dirname(index), file)])),
  );
  return new Map(entries.filter(([name]) => !/\s/.test(name)));
}

/**
 * On as many lines as before, for source maps.
 * @param {string} whole
 * @param {string} list
 * @param {string} index
 * @param {ReadonlyMap<string, string> | undefined} files
 */
function rewrite(whole, list, index, files) {
  const values = names(list).filter((name) => !name.startsWith("type "));
  const imports = values.map((name) => {
    const [exported = name] = name.split(/\s+as\s+/);
    return `import { ${name} } from ${JSON.stringify(files?.get(exported) ?? index)};`;
  });
  return `${imports.join(" ")}${"\n".repeat(whole.split("\n").length - 1)}`;
}
