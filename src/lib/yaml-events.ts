/**
 * YAML text in, the events of its parser out, with the text that their places refer to. Flow collections and quoted texts
 * over several lines may be indented less than their block, as libyaml (and so kubectl) reads them: there blanks at the
 * begin of a line mean nothing, so that where the parser asks for more, more are put in. Lines stay where they are.
 */
import { type Event, parseEvents } from "js-yaml";

export interface YamlEvents {
  readonly text: string;
  readonly events: Event[];
}

export function yamlEvents(text: string, maxDepth: number): YamlEvents {
  try {
    return { text, events: parseEvents(text, { maxDepth }) };
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes("deficient indentation")) throw error;
    const indented = indentFlows(text);
    if (indented === undefined) throw error;
    return { text: indented, events: parseEvents(indented, { maxDepth }) };
  }
}

/** Put in over the length of the text: many lines in a bracket that is far to the right would else become their product. */
const freeBlanks = 64 * 1024;
/** Dashes, keys, tags and anchors on one line, and what is looked at of its end: nobody writes more. */
const maxHeads = 32;
const endLength = 200;

interface State {
  /** Brackets that are open. */
  depth: number;
  quote: string;
  /** Where on its line that began which is open. */
  indent: number;
}

/** Undefined where more blanks would have to be put in than may be. */
function indentFlows(text: string): string | undefined {
  const state: State = { depth: 0, quote: "", indent: 0 };
  /** Lines of a block scalar are indented more than this. */
  let scalar = -1;
  let blanks = text.length + freeBlanks;
  const lines = text.split("\n");
  for (const [i, line] of lines.entries()) {
    const inside = state.depth > 0 || state.quote !== "";
    const indent = line.length - line.trimStart().length;
    if (!inside) {
      if (scalar >= 0 && (line.trim() === "" || indent > scalar)) continue;
      scalar = -1;
      state.indent = startOf(line);
    }
    scan(line, inside ? 0 : state.indent, state);
    if (!inside && state.depth === 0 && state.quote === "" && isBlockScalar(line)) scalar = indent;
    if (!inside || line.trim() === "") continue;
    blanks -= state.indent + 1;
    if (blanks < 0) return undefined;
    lines[i] = `${" ".repeat(state.indent + 1)}${line.trimStart()}`;
  }
  return lines.join("\n");
}

/** `key: |`, `- >-` and the like. */
function isBlockScalar(whole: string): boolean {
  const line = whole.slice(-endLength);
  return (
    /(^|[\s:-])[|>][-+0-9]{0,2}\s*(#.*)?$/.test(line) && /(:|-|\?)\s+(\S+\s+)?[|>][-+0-9]{0,2}\s*(#.*)?$/.test(line)
  );
}

/** Where the value of a line of a block begins, after its key, dashes, tag and anchor. */
function startOf(line: string): number {
  let at = line.length - line.trimStart().length;
  for (let heads = 0; heads < maxHeads; heads++) {
    const rest = line.slice(at);
    const [head = ""] =
      /^(?:[-?]\s+|[&!]\S*\s+|(?:"[^"]*"|'[^']*'|[^\s"'[{#][^:#]*|[^\s"'[{#][^#]*?):(?:\s+|$))/.exec(rest) ?? [];
    if (head === "") break;
    at += head.length;
  }
  return at;
}

/** Follows brackets and quotes over the line; a plain text of a block opens nothing. */
function scan(line: string, from: number, state: State): void {
  if (state.depth === 0 && state.quote === "" && !/^["'[{]/.test(line.slice(from))) return;
  /** The last character that is no blank: a quote opens a text only where one can begin. */
  let before = "";
  for (let at = from; at < line.length; at++) {
    const c = line.charAt(at);
    if (state.quote !== "") {
      if (c === "\\" && state.quote === '"') at++;
      else if (c === state.quote) {
        if (c === "'" && line.charAt(at + 1) === "'") at++;
        else {
          state.quote = "";
          before = c;
          if (state.depth === 0) return;
        }
      }
      continue;
    }
    if (c === "#" && (at === 0 || /\s/.test(line.charAt(at - 1)))) return;
    if ((c === '"' || c === "'") && (before === "" || "[{,:".includes(before))) state.quote = c;
    else if (c === "[" || c === "{") state.depth++;
    else if (c === "]" || c === "}") {
      state.depth--;
      if (state.depth <= 0) {
        state.depth = 0;
        return;
      }
    }
    if (!/\s/.test(c)) before = c;
  }
}
