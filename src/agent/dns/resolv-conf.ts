/** The text of /etc/resolv.conf in; its servers and search list out. */
import { isIP } from "node:net";

export interface ResolvConf {
  readonly servers: readonly string[];
  /** Lower case, without final dots. */
  readonly search: readonly string[];
}

export function parseResolvConf(text: string): ResolvConf {
  const lines = text.split("\n").map((line) =>
    line
      .replace(/[#;].*$/, "")
      .trim()
      .split(/\s+/),
  );
  const servers = lines.flatMap(([word, address = ""]) =>
    word === "nameserver" && isIP(bare(address)) ? [address] : [],
  );
  // The last such line counts.
  const [, ...search] = lines.findLast(([word]) => word === "search" || word === "domain") ?? [];
  return { servers, search: search.map((name) => name.toLowerCase().replace(/\.$/, "")).filter((name) => name !== "") };
}

/** A link-local address names its interface. */
const bare = (address: string): string => address.split("%", 1)[0] ?? address;
