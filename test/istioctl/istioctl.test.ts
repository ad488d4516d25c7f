/**
 * What istioctl's commands are answered, without an istioctl: the paths that `x internal-debug` and `remote-clusters` read,
 * over HTTP, and Fairlead's own commands of the same words, all compared with what istioctl printed on an istiod.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../src/cli/testing.ts";
import { lacks } from "../require.ts";
import { withBootstrap } from "./admin.ts";
import { commands, debugPaths } from "./commands.ts";
import { complaints, differences } from "./compare.ts";
import { readKept } from "./kept.ts";
import { type Mesh, startMesh } from "./mesh.ts";
import { normalise } from "./normalise.ts";
import { startFairlead } from "./planes.ts";
import type { Said } from "./run.ts";

const kept = readKept();
let mesh: Mesh | undefined;
const dir = mkdtempSync(join(tmpdir(), "fairlead-istioctl-"));

beforeAll(async () => {
  mesh = await startMesh(startFairlead);
});
afterAll(async () => {
  await mesh?.close();
  rmSync(dir, { recursive: true, force: true });
});

const folder = import.meta.dirname;
const monitoring = (): number => mesh?.plane.ports.monitoring ?? 0;

/** As istioctl prints what it is answered: the text, and a list of all paths where there is none of that name. */
async function debug(path: string): Promise<Said> {
  const answer = await fetch(`http://127.0.0.1:${monitoring()}/debug/${path}`);
  return { status: 0, out: normalise(`${(await answer.text()).trimEnd()}\n`, folder) };
}

test("every command has an answer of istiod that is kept, and no difference is listed for another", () => {
  expect([...kept.keys()].sort()).toEqual([...commands].sort());
  expect(commands.length).toBeGreaterThanOrEqual(60);
  expect([...differences.keys()].filter((command) => !kept.has(command))).toEqual([]);
});

/** Only istioctl words these. */
const wordedByIstioctl = ["nothing", "config_dump", "sidecarz"];

test.skipIf(lacks("kubectl"))("all debug paths answer as istiod's do, but for what is listed", async () => {
  const wrong: string[] = [];
  for (const path of debugPaths.filter((one) => !wordedByIstioctl.includes(one))) {
    const command = `x internal-debug ${path}`;
    const istiod = kept.get(command) ?? { status: -1, out: "" };
    // istioctl puts an empty line after an answer.
    wrong.push(...complaints(command, { ...istiod, out: `${istiod.out.trimEnd()}\n` }, await debug(path)));
  }
  expect(wrong).toEqual([]);
});

/** The same words with the dump of a proxy in a file. */
async function ownCommand(command: string): Promise<Said> {
  const [first = "", kind = "", pod = "", ...rest] = command.split(" ");
  const { status, stdout, stderr } = await runCli([first, kind, "-f", await dumpOf(pod), ...rest]);
  return { status, out: normalise(`${stdout}${stderr}`, folder) };
}

async function dumpOf(pod: string): Promise<string> {
  const url = `http://127.0.0.1:${monitoring()}/debug/config_dump?proxyID=${pod}&include_eds=true`;
  const file = join(dir, `${pod}.json`);
  writeFileSync(
    file,
    JSON.stringify(withBootstrap(((await (await fetch(url)).json()) as { configs: [] }).configs, pod)),
  );
  return file;
}

const ownWords = commands.filter((command) =>
  /^proxy-config (all|cluster|listener|route|eds|bootstrap) \S+-1\.(shop|istio-system)\b/.test(command),
);

test.skipIf(lacks("kubectl")).each(ownWords)("fairlead %s prints what istioctl prints with istiod", async (command) => {
  expect(await ownCommand(command)).toEqual(kept.get(command));
});
