/** `host:port`, `[v6]:port` or `:port` in; where to listen out. */
import { FairleadError } from "../lib/index.ts";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Without a host, `anyHost` is meant. */
export function parseListenAddress(flag: string, text: string, anyHost: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3] ?? Number.NaN);
  if (!match || port > 65535)
    throw new FairleadError("usage", `${flag}: ${text} is not an address`, {
      hint: "write HOST:PORT, such as 127.0.0.1:15010; port 0 takes any free one",
    });
  return { host: match[1] ?? (match[2] || anyHost), port };
}

export function formatAddress(address: ListenAddress): string {
  return `${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`;
}
