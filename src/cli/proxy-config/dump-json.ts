/** A dump's text in, JSON out; what is no JSON is refused in the words that istioctl has for it. */
import { FairleadError, fileLimits, parseJson } from "../../lib/index.ts";
import { findJsonMistake } from "./json-mistake.ts";

/** Which of its two parsers istioctl uses: they name the same mistake differently. */
export type Parser = "proto" | "json";

const prefix = "error unmarshalling config dump response from Envoy: ";

export function readDumpJson(text: string, parser: Parser): unknown {
  try {
    return parseJson(text, fileLimits);
  } catch (cause) {
    if (cause instanceof FairleadError && cause.cause instanceof SyntaxError)
      throw new FairleadError("invalid", prefix + describeMistake(text, parser), { cause });
    throw cause;
  }
}

function describeMistake(text: string, parser: Parser): string {
  if (parser === "json") return describeForJson(text);
  const { position } = findJsonMistake(text);
  // The protobuf library writes a no-break space after its name.
  if (position >= text.length) return "proto:\u00a0unexpected EOF";
  const before = text.slice(0, position).split("\n");
  const where = `line ${before.length}:${(before.at(-1) ?? "").length + 1}`;
  const [token = ""] = /^(?:"(?:[^"\\]|\\.)*"|[-+._a-zA-Z0-9]{1,32}|.)/su.exec(text.slice(position)) ?? [];
  const isToken = /^(?:[{}[\],:"]|-?\d|(?:true|false|null)$)/.test(token);
  return `proto:\u00a0syntax error (${where}): ${isToken ? "unexpected token" : "invalid value"} ${token}`;
}

/** In the words of Go's encoding/json. */
export function describeForJson(text: string): string {
  const { position, where } = findJsonMistake(text);
  return position >= text.length ? "unexpected end of JSON input" : `invalid character '${text[position]}' ${where}`;
}
