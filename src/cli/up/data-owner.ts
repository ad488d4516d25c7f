/** Under sudo, a data folder in; everything that root made in it, owned by the user who called sudo, out. */
import { statSync } from "node:fs";
import { giveToUser, sudoUser, userHome } from "../../../scripts/user-home.mjs";

/** A folder that was root's before stays so, unless it lies in the user's home: there an earlier run left it. */
export function giveDataToUser(dir: string, env: Readonly<Record<string, string | undefined>>): void {
  const user = sudoUser(env);
  if (!user) return;
  if (statSync(dir).uid === user.uid || dir.startsWith(`${userHome(env)}/`)) giveToUser(dir, env);
}
