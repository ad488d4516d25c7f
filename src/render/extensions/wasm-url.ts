/** The url of a Wasm module as users write it in; as Go's net/url prints it, with `oci` where it names no scheme, out. */

/** Characters that Go leaves in a path as they are, and those that it accepts there. */
const keptInPath = /[A-Za-z0-9\-_.~$&+,/:;=@]/;
const validPath = /^(?:[A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]]|%[0-9A-Fa-f]{2})*$/;

export interface WasmUrl {
  readonly scheme: string;
  readonly text: string;
}

/** Undefined for what is no URL. */
export function readWasmUrl(written: string): WasmUrl | undefined {
  if (hasControl(written)) return undefined;
  const [, scheme, rest = written] = /^([A-Za-z][A-Za-z0-9+\-.]*):(.*)$/s.exec(written) ?? [];
  if (scheme === undefined) return withoutScheme(written);
  const lower = scheme.toLowerCase();
  // `registry:5000/image` reads as a scheme with something opaque behind it; Go keeps it as it is.
  if (!rest.startsWith("/")) return { scheme: lower, text: `${lower}:${rest}` };
  const printed = printRest(rest);
  return printed === undefined ? undefined : { scheme: lower, text: `${lower}:${printed}` };
}

function withoutScheme(written: string): WasmUrl | undefined {
  if (written.startsWith(":") || /^[^/?#]*:/.test(written)) return undefined;
  const printed = printRest(written);
  if (printed === undefined) return undefined;
  return { scheme: "oci", text: printed.startsWith("//") ? `oci:${printed}` : `oci://${printed}` };
}

/** `[//authority]path[?query][#fragment]`. */
function printRest(rest: string): string | undefined {
  const [, authority = "", path = "", tail = ""] = /^(\/\/[^/?#]*)?([^?#]*)(.*)$/s.exec(rest) ?? [];
  if (/%(?![0-9A-Fa-f]{2})/.test(authority + path) || /[\s"<>^`{|}\\]/.test(authority)) return undefined;
  return `${authority}${validPath.test(path) ? path : escapePath(path)}${tail.replaceAll(" ", "%20")}`;
}

function escapePath(path: string): string {
  const plain = Buffer.from(unescapePercent(path));
  return [...plain].map((byte) => escapeByte(byte)).join("");
}

function escapeByte(byte: number): string {
  const char = String.fromCharCode(byte);
  return byte < 0x80 && keptInPath.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}

function unescapePercent(path: string): Uint8Array {
  const chunks = path.split(/(%[0-9A-Fa-f]{2})/);
  return Buffer.concat(
    chunks.map((chunk) => (/^%..$/.test(chunk) ? Buffer.from(chunk.slice(1), "hex") : Buffer.from(chunk))),
  );
}

function hasControl(text: string): boolean {
  return [...text].some((char) => char < " " || char === "\u007f");
}
