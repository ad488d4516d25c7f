/** A mesh and an istioctl in; what each command printed, normalised, and how it ended, out. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commands } from "./commands.ts";
import type { Mesh } from "./mesh.ts";
import { normalise } from "./normalise.ts";

export interface Said {
  readonly status: number;
  readonly out: string;
}

const folder = import.meta.dirname;
const mostMs = 30_000;

export async function runAll(istioctl: string, mesh: Mesh): Promise<ReadonlyMap<string, Said>> {
  const said = new Map<string, Said>();
  for (const command of commands) said.set(command, await run(istioctl, mesh, command));
  return said;
}

async function run(istioctl: string, { pods }: Mesh, command: string): Promise<Said> {
  const home = mkdtempSync(join(tmpdir(), "fairlead-istioctl-"));
  const args = command.split(" ").map((word) => word.replace("FILE", folder));
  const child = spawn(istioctl, args, {
    env: { PATH: process.env.PATH, HOME: home, KUBECONFIG: pods.api.kubeconfig },
    stdio: ["ignore", "pipe", "pipe"],
    cwd: home,
  });
  const text = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text.out += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    text.err += chunk;
  });
  const late = setTimeout(() => child.kill("SIGKILL"), mostMs);
  const status = await new Promise<number>((resolve) => child.once("close", (code) => resolve(code ?? -1)));
  clearTimeout(late);
  rmSync(home, { recursive: true, force: true });
  return { status, out: normalise(`${text.out}${text.err}`, folder) };
}
