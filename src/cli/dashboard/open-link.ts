/** A link with a token, and a folder of one's own, in; the user's browser at that link out. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { replaceSecretFile } from "../../pki/index.ts";
import type { Io } from "../command.ts";

/**
 * Others of this machine see the arguments of every process: the browser is handed a file that only its user can read, and
 * that leads on. Where there is no browser the link, which was printed, is enough.
 */
export async function openLink(link: string, folder: string, io: Io): Promise<void> {
  const file = join(folder, "open-dashboard.html");
  await replaceSecretFile(file, redirect(link));
  const command = process.platform === "darwin" ? "open" : "xdg-open";
  spawn(command, [file], { stdio: "ignore", detached: true, env: { ...process.env, ...io.env } })
    .on("error", () => {})
    .unref();
}

/** The link has no letter that means something in HTML. */
const redirect = (link: string): string =>
  `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${link}"><title>Fairlead</title>\n`;
