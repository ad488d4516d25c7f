/** PEM text in, DER blocks out, and back. Line by line, never by pattern over the whole text, so a near-PEM of any size costs one pass. */
import { FairleadError } from "../lib/index.ts";

export interface PemBlock {
  readonly label: string;
  readonly der: Buffer;
}

/** Files of users and of Kubernetes; a bundle of public roots has about 250 KB. */
const maxBundle = 1024 * 1024;
const maxBlocks = 1000;
const begin = "-----BEGIN ";
const end = "-----END ";
const dashes = "-----";

export function formatPem(label: string, der: Uint8Array): string {
  const text = Buffer.from(der).toString("base64");
  const lines = Array.from({ length: Math.ceil(text.length / 64) }, (_, i) => text.slice(i * 64, i * 64 + 64));
  return `${begin}${label}${dashes}\n${lines.join("\n")}\n${end}${label}${dashes}\n`;
}

/** Exactly one block with exactly this label and nothing beside it: what a peer sends. */
export function parseSinglePem(text: string, label: string, maxBytes: number): Buffer {
  if (text.length > maxBytes)
    throw new FairleadError("too-large", `the PEM has ${text.length} characters; at most ${maxBytes} are accepted`);
  const [head, tail] = [`${begin}${label}${dashes}\n`, `\n${end}${label}${dashes}`];
  const body = text.endsWith("\n") ? text.slice(0, -1) : text;
  if (!body.startsWith(head) || !body.endsWith(tail) || body.length < head.length + tail.length)
    throw new FairleadError("invalid", `the text is not exactly one PEM block "${label}"`);
  return decodeLines(body.slice(head.length, -tail.length).split("\n"));
}

/** All blocks of a file; text between blocks and Windows line ends are allowed, as in files that people write. */
export function parsePem(text: string): readonly PemBlock[] {
  if (text.length > maxBundle)
    throw new FairleadError(
      "too-large",
      `the PEM file has ${text.length} characters; at most ${maxBundle} are accepted`,
    );
  const blocks: PemBlock[] = [];
  let open: { readonly label: string; readonly lines: string[] } | undefined;
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (open === undefined) {
      if (line.startsWith(begin) && line.endsWith(dashes))
        open = { label: line.slice(begin.length, -dashes.length), lines: [] };
    } else if (line.startsWith(end)) {
      if (line !== `${end}${open.label}${dashes}`)
        throw new FairleadError("invalid", "a PEM block ends with another label than it begins");
      blocks.push({ label: open.label, der: decodeLines(open.lines) });
      if (blocks.length > maxBlocks)
        throw new FairleadError("too-large", `the PEM file has more than ${maxBlocks} blocks`);
      open = undefined;
    } else open.lines.push(line);
  }
  if (open !== undefined) throw new FairleadError("invalid", "a PEM block has no end");
  return blocks;
}

function decodeLines(lines: readonly string[]): Buffer {
  const text = lines.join("");
  const der = Buffer.from(text, "base64");
  if (text === "" || der.toString("base64") !== text) throw new FairleadError("invalid", "a PEM block is not base64");
  return der;
}
