/** What a person writes for the other side (`[scheme://]host[:port][/path]`) in; its parts out. */
import { FairleadError } from "../../lib/index.ts";

const schemes = ["http", "https", "grpc", "tcp", "tls"] as const;
export type Scheme = (typeof schemes)[number];

export interface DestinationText {
  /** Undefined: whatever the port is for. */
  readonly scheme: Scheme | undefined;
  readonly host: string;
  readonly port: number | undefined;
  /** With query; undefined where none was written. */
  readonly path: string | undefined;
}

export function parseDestination(text: string): DestinationText {
  const [, scheme, rest = ""] = /^(?:([a-z0-9+.-]+):\/\/)?(.*)$/is.exec(text) ?? [];
  const known = schemes.find((name) => name === scheme?.toLowerCase());
  if (scheme !== undefined && !known)
    throw new FairleadError("usage", `${scheme}:// is not known`, { hint: `there is ${schemes.join(", ")}` });
  const [, host = "", port, path] = /^(\[[^\]]*\]|[^:/?#]*)(?::([^/?#]*))?([/?#].*)?$/s.exec(rest) ?? [];
  if (host === "" || /[\s\0]/.test(host))
    throw new FairleadError("usage", `${JSON.stringify(text)} names no destination`, {
      hint: "write it as HOST[:PORT][/PATH], such as reviews:9080/reviews/1",
    });
  const number = port === undefined ? undefined : Number(port);
  if (number !== undefined && !(/^\d{1,5}$/.test(port ?? "") && number > 0 && number < 65_536))
    throw new FairleadError("usage", `${port} is not a port`, { hint: "ports are numbers from 1 to 65535" });
  return {
    scheme: known,
    host: host.replace(/^\[|\]$/g, "").toLowerCase(),
    port: number,
    path: path === undefined ? undefined : path.startsWith("/") ? path : `/${path}`,
  };
}
