/** Names of a mesh in; the name of a file of the report out, which lies in it and fits an archive, whatever they are. */
import { digest } from "../../lib/index.ts";

/** An archive has room for folders of 155 characters, and for a name of 100. */
const longest = 60;
const kept = 40;

/** Proxies call themselves what they like: what is no plain name has a mark of its own, so that none takes another's place. */
export const memberName = (...names: readonly string[]): string => names.map(plainName).join("/");

function plainName(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9._-]/g, "_").replace(/^\.+/, "_");
  if (plain === name && name !== "" && name.length <= longest) return name;
  return `${plain.slice(0, kept)}-${digest(name).slice(0, 10)}`;
}
