/** Addresses in, the reason why they are none (or undefined) out. */
import { parseIp, parsePrefix } from "../../lib/index.ts";

export const unixPrefix = "unix://";

/** Go's netip accepts zones; a host name is no address. */
export const isIp = (text: string): boolean => parseIp(text.replace(/%[^%]+$/, "")) !== undefined;

export const ipError = (text: string): string | undefined => (isIp(text) ? undefined : `${text} is not a valid IP`);

/** An address, or a block in CIDR notation. */
export function subnetError(text: string): string | undefined {
  if (text.split("/").length !== 2) return ipError(text);
  return "error" in parsePrefix(text) ? `${text} is not a valid CIDR block` : undefined;
}

/** The path after `unix://`; a name after `@` is an abstract socket. */
export function unixPathError(path: string): string | undefined {
  if (path === "") return "unix address must not be empty";
  if (path.startsWith("@")) return undefined;
  return path.startsWith("/") && !path.endsWith("/") ? undefined : `${path} is not an absolute path to a file`;
}
