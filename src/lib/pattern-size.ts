/**
 * A pattern in; about how large it becomes when it is compiled, out, without compiling it: repetitions are written out, so
 * that a thousand characters can become a hundred thousand instructions and take a good part of a second.
 */

export interface PatternSize {
  /** It has no fewer instructions than this. */
  readonly least: number;
  /** Its cost to compile, in instructions. */
  readonly most: number;
}

/** A Unicode class is a table of hundreds of ranges. */
const classCost = 30;

interface Group {
  readonly done: PatternSize[];
  readonly alternatives: PatternSize[];
}

const none: PatternSize = { least: 0, most: 0 };
const plus = (a: PatternSize, b: PatternSize): PatternSize => ({ least: a.least + b.least, most: a.most + b.most });
const sum = (parts: readonly PatternSize[]): PatternSize => parts.reduce(plus, none);

/** One token each: an escape, a repetition, the start of a group, any other character. None looks far ahead. */
const token =
  /\\[pP](?:\{\^?\w{0,40}\}|\w)|\\x(?:\{\w{0,8}\}|\w\w)|\\[0-7]{1,3}|\\[\s\S]|\{\d{1,9}(?:,\d{0,9})?\}|\(\?[\w<-]{0,60}[:>)]|[\s\S]/uy;
const bracketed = /\[\^?\]?(?:\\[\s\S]|\[:\^?\w{1,10}:\]|[^\]\\])*\]/uy;

export function measurePattern(source: string): PatternSize {
  const groups: Group[] = [open()];
  for (const text of tokensOf(source)) {
    const group = groups.at(-1) ?? open();
    if (text === "(" || (text.startsWith("(?") && !text.endsWith(")"))) groups.push(open());
    else if (text === ")" && groups.length > 1) {
      groups.pop();
      groups.at(-1)?.done.push(close(group));
    } else if (text === "|") group.alternatives.push(sum(group.done.splice(0)));
    else if (/^\{\d/.test(text)) repeat(group, text);
    else group.done.push(sizeOf(text));
  }
  return sum(groups.map(close));
}

/** Ends at a class that is not closed: no such pattern is compiled. */
function* tokensOf(source: string): Generator<string> {
  for (let at = 0; at < source.length; ) {
    const text = source.startsWith("\\Q", at) ? quoted(source, at) : tokenAt(source, at);
    if (text === undefined) return;
    yield text;
    at += text.length;
  }
}

function tokenAt(source: string, at: number): string | undefined {
  const kind = source[at] === "[" ? bracketed : token;
  kind.lastIndex = at;
  return kind.exec(source)?.[0];
}

function quoted(source: string, at: number): string {
  const end = source.indexOf("\\E", at);
  return end < 0 ? source.slice(at) : source.slice(at, end + 2);
}

const open = (): Group => ({ done: [], alternatives: [] });

/** Alternatives with a common beginning share it. */
function close({ done, alternatives }: Group): PatternSize {
  const all = [...alternatives, sum(done)];
  return { least: Math.max(...all.map(({ least }) => least)), most: sum(all).most };
}

/** Beyond a thousand no pattern is accepted. */
function repeat({ done }: Group, text: string): void {
  const last = done.pop() ?? none;
  const [from = 0, to = from] = (text.match(/\d+/g) ?? []).map(Number);
  const times = Math.min(Math.max(from, to), 1000);
  done.push({ least: last.least * times, most: Math.max(last.most, 1) * times });
}

function sizeOf(text: string): PatternSize {
  if (/^(?:\\[pP]|\[.*\\[pP])/su.test(text)) return { least: 1, most: classCost };
  if (text.startsWith("\\Q")) return { least: 0, most: text.length };
  if (/^(?:[\^$*+?]|\\[bBAzE]|\(\?)/.test(text)) return { least: 0, most: 1 };
  return { least: 1, most: 1 };
}
