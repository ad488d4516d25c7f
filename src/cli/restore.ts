/** `fairlead restore`: what `fairlead backup` saved, back into a data folder. */
import { join } from "node:path";
import type { Command } from "commander";
import { restore } from "../apiserver/index.ts";
import { FairleadError } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { defaultDataDir, openDataDir, ownerOfDir } from "./up/data-dir.ts";
import { giveDataToUser } from "./up/data-owner.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("restore <file>")
    .summary("Bring back what `backup` saved")
    .description("Reads and checks the whole file first; a mesh that runs on the folder has to be stopped before.")
    .option("--data <dir>", "data folder (default: fairlead in the user's data folder)")
    .option("--replace", "also where the folder has a store: it is kept beside, under another name")
    .addHelpText("after", "\nExample:\n  fairlead restore mesh.backup --replace\n")
    .action(async (file: string, flags: { readonly data?: string; readonly replace?: boolean }) => {
      const data = openDataDir(flags.data ?? defaultDataDir(io.env), io.env);
      try {
        refuseLivingApi(join(data.path, "api"));
        const report = await restore({
          apiDir: join(data.path, "api"),
          file,
          replace: flags.replace === true,
          now: new Date(),
        });
        io.out(`${report.objects} objects of ${report.created} restored, version ${report.version}\n`);
        if (report.moved !== undefined) io.out(`what was there is in ${report.moved}\n`);
        giveDataToUser(data.path, io.env);
      } finally {
        data.unlock();
      }
      exit(0);
    });
}

/** It may go on without the `up` that started it. */
function refuseLivingApi(dir: string): void {
  const owner = ownerOfDir(dir);
  if (owner)
    throw new FairleadError("locked", `${dir} is in use by process ${owner.pid}, whose \`up\` is gone`, {
      hint: "end it with `fairlead down --data DIR`, then restore",
    });
}
