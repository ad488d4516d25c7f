/** `fairlead api`: the embedded Kubernetes API of a standalone mesh, on its own. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { type ApiServer, adminUser, controlPlane, createApiServer } from "../apiserver/index.ts";
import { createLogger, isDiskFull, type Logger } from "../lib/index.ts";
import { type Io, untilStopped } from "./command.ts";
import { parseListenAddress } from "./listen-address.ts";
import { processOverload } from "./process-overload.ts";
import { favourEventLoop } from "./runtime.ts";
import { openDataDir } from "./up/data-dir.ts";
import { readRestarts } from "./up/supervised.ts";
import { podFolder } from "./up/workload-host.ts";

interface ApiFlags {
  readonly data: string;
  readonly addr: string;
  readonly boundAddresses?: string;
  readonly log_output_level?: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("api")
    .summary("Serve the API of a standalone mesh")
    .description("What `fairlead up` starts first: a Kubernetes API with a durable store.")
    .requiredOption("--data <dir>", "the mesh's data folder")
    .requiredOption("--addr <addr>", "where it listens")
    .option("--bound-addresses <file>", "write the address, once bound, as JSON to this file")
    .option("--log_output_level <levels>", "as istiod: default:info,ads:debug")
    .addHelpText(
      "after",
      "\nExample:\n  fairlead api --data /tmp/mesh --addr 127.0.0.1:7443 --bound-addresses /tmp/api.json\n",
    )
    .action(async (flags: ApiFlags) => exit(await api(flags, io)));
}

async function api(flags: ApiFlags, io: Io): Promise<number> {
  favourEventLoop();
  const { host, port } = parseListenAddress("--api-addr", flags.addr, "127.0.0.1");
  const log = createLogger({
    write: (line) => io.err(`${line}\n`),
    now: () => new Date(),
    ...(flags.log_output_level === undefined ? {} : { levels: flags.log_output_level }),
  }).scope("api");
  // Whoever started it may be gone while it goes on.
  const folder = openDataDir(join(flags.data, "api"), io.env);
  try {
    const server = await createApiServer({
      dataDir: folder.path,
      ...{ host, port, log, now: () => new Date() },
      podDir: podFolder(flags.data),
      overload: processOverload(io, log),
      restarts: readRestarts(io.env),
    });
    await writeFiles(server, flags, log);
    await untilStopped(io.signal);
    await server.close();
    return 0;
  } finally {
    folder.unlock();
  }
}

/** In a further life those of the first are as good: a full disk, which takes no others, is no reason not to serve. */
async function writeFiles(server: ApiServer, { data, boundAddresses }: ApiFlags, log: Logger): Promise<void> {
  try {
    await server.writeKubeconfig(join(data, "kubeconfig"), adminUser);
    await server.writeKubeconfig(join(data, "run", "control-plane.kubeconfig"), controlPlane);
  } catch (error) {
    if (boundAddresses !== undefined || !isDiskFull(error)) throw error;
    log.warn(`the disk of ${data} is full: kubeconfigs stay as they are`);
  }
  if (boundAddresses === undefined) return;
  writeFileSync(`${boundAddresses}.new`, JSON.stringify({ api: server.address }), { mode: 0o600 });
  renameSync(`${boundAddresses}.new`, boundAddresses);
}
