/** DER, strictly: parts in, encoded bytes out; encoded bytes in, a cursor out that refuses whatever is BER only. */
import { FairleadError } from "../lib/index.ts";

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

const constructedBit = 0x20;
/** Deeper than any certificate or request in use; hostile nesting is refused before anything descends. */
const maxDepth = 32;

/** The tag byte of `[n]`, constructed for explicit wrappers and implicit sequences. */
export function contextTag(number: number, constructed: boolean): number {
  return 0x80 | (constructed ? constructedBit : 0) | number;
}

export function encode(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const length = contents.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([encodeHeader(tag, length), ...contents]);
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return encode(tags.sequence, ...parts);
}

export function set(...parts: readonly Uint8Array[]): Buffer {
  return encode(tags.set, ...parts);
}

/** A non-negative INTEGER from its magnitude. */
export function unsignedInteger(magnitude: Uint8Array): Buffer {
  const first = magnitude.findIndex((byte) => byte !== 0);
  const body = first < 0 ? Buffer.from([0]) : Buffer.from(magnitude.subarray(first));
  return (body[0] ?? 0) < 0x80 ? encode(tags.integer, body) : encode(tags.integer, Buffer.from([0]), body);
}

export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return encode(tags.bitString, Buffer.from([unusedBits]), bytes);
}

export function octetString(bytes: Uint8Array): Buffer {
  return encode(tags.octetString, bytes);
}

export function utf8String(text: string): Buffer {
  return encode(tags.utf8String, Buffer.from(text, "utf8"));
}

export function booleanTrue(): Buffer {
  return encode(tags.boolean, Buffer.from([0xff]));
}

export function nullValue(): Buffer {
  return encode(tags.null);
}

/** Only identifiers that the code itself names, so that there are few. */
const knownOids = new Map<string, Buffer>();

export function oid(dotted: string): Buffer {
  const known = knownOids.get(dotted) ?? encodeOid(dotted);
  knownOids.set(dotted, known);
  return known;
}

/** Numbers of more than 31 bits are refused: Go's parsers refuse whatever has one in it. */
function encodeOid(dotted: string): Buffer {
  const [first = 0n, second = 0n, ...rest] = dotted.split(".").map(BigInt);
  if (rest.some((arc) => arc > 0x7fff_ffffn)) throw new FairleadError("internal", `${dotted} has too large a number`);
  return encode(tags.oid, Buffer.from([first * 40n + second, ...rest].flatMap(base128)));
}

/** UTCTime through 2049, GeneralizedTime from then on, as RFC 5280 demands. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]/g, "").slice(0, 14);
  const year = date.getUTCFullYear();
  if (year >= 1950 && year < 2050) return encode(tags.utcTime, Buffer.from(`${digits.slice(2)}Z`));
  return encode(tags.generalizedTime, Buffer.from(`${digits}Z`));
}

/** The inverse of `time`, for times in the forms that RFC 5280 allows. */
export function readTime({ tag, content }: DerElement): Date {
  const text = Buffer.from(content).toString("latin1");
  const full = tag === tags.utcTime ? `${Number(text.slice(0, 2)) < 50 ? "20" : "19"}${text}` : text;
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(full);
  if (!parts) throw malformed("has a time of another form than expected");
  const [, year, month, day, hour, minute, second] = parts.map(Number);
  return new Date(Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second));
}

export interface DerElement {
  readonly tag: number;
  readonly content: Uint8Array;
  /** Header and content: what a signature covers. */
  readonly raw: Uint8Array;
}

export interface DerReader {
  /** The next element, which must have the tag. */
  take(tag: number): DerElement;
  /** The next element if it has the tag. */
  takeIf(tag: number): DerElement | undefined;
  takeAny(): DerElement;
  isAtEnd(): boolean;
  /** Refuses anything left over. */
  end(): void;
}

/** A cursor over the elements that lie side by side in the bytes. */
export function readDer(bytes: Uint8Array): DerReader {
  let at = 0;
  const reader = {
    isAtEnd: () => at >= bytes.length,
    takeIf(tag: number) {
      if (bytes[at] !== tag) return undefined;
      const element = elementAt(bytes, at);
      at += element.raw.length;
      return element;
    },
    takeAny() {
      const element = elementAt(bytes, at);
      at += element.raw.length;
      return element;
    },
    take(tag: number) {
      const element = reader.takeIf(tag);
      if (!element)
        throw malformed(at >= bytes.length ? "ends too early" : "has an element of another kind than expected");
      return element;
    },
    end() {
      if (at < bytes.length) throw malformed("has bytes after its end");
    },
  };
  return reader;
}

/** Walks the whole tree without recursion: exactly one element, every length definite, minimal and within its parent. */
export function checkDer(bytes: Uint8Array): void {
  const open: Uint8Array[] = [bytes];
  const offsets: number[] = [0];
  let outermost = 0;
  for (;;) {
    const level = open.length - 1;
    const [inside, at] = [open[level], offsets[level]];
    if (inside === undefined || at === undefined) return;
    if (at >= inside.length) {
      open.pop();
      offsets.pop();
      continue;
    }
    if (level === 0 && outermost++ > 0) throw malformed("has bytes after its end");
    const element = elementAt(inside, at);
    offsets[level] = at + element.raw.length;
    if ((element.tag & constructedBit) === 0) continue;
    if (open.length >= maxDepth) throw malformed(`is nested deeper than ${maxDepth} levels`);
    open.push(element.content);
    offsets.push(0);
  }
}

/** The dotted form of an OBJECT IDENTIFIER's content. */
export function oidText(content: Uint8Array): string {
  const arcs: number[] = [];
  let value = 0;
  let start = true;
  for (const byte of content) {
    if (start && byte === 0x80) throw malformed("has an object identifier that is not minimal");
    value = value * 128 + (byte & 0x7f);
    if (value > Number.MAX_SAFE_INTEGER / 128) throw malformed("has an object identifier that is too large");
    start = (byte & 0x80) === 0;
    if (start) {
      arcs.push(value);
      value = 0;
    }
  }
  const [head, ...rest] = arcs;
  if (head === undefined || !start) throw malformed("has an object identifier that is cut off");
  const first = Math.min(2, Math.floor(head / 40));
  return [first, head - first * 40, ...rest].join(".");
}

/** The bytes of a BIT STRING that must fill whole bytes, as keys and signatures do. */
export function wholeBits(content: Uint8Array): Uint8Array {
  if (content[0] !== 0) throw malformed("has a bit string that does not fill whole bytes");
  return content.subarray(1);
}

/** The magnitude of an INTEGER that must be positive and minimally encoded. */
export function positiveInteger(content: Uint8Array): Uint8Array {
  const [first, second] = content;
  if (first === undefined || first >= 0x80) throw malformed("has a number that is not positive");
  if (first === 0 && content.length > 1 && (second ?? 0) < 0x80) throw malformed("has a number that is not minimal");
  return first === 0 ? content.subarray(1) : content;
}

function malformed(why: string): FairleadError {
  return new FairleadError("invalid", `the DER ${why}`);
}

function elementAt(bytes: Uint8Array, at: number): DerElement {
  const tag = bytes[at];
  const first = bytes[at + 1];
  if (tag === undefined || first === undefined) throw malformed("ends too early");
  if ((tag & 0x1f) === 0x1f) throw malformed("has a tag of more than one byte");
  let start = at + 2;
  let length = first;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw malformed("has a length that is not definite or too large");
    length = 0;
    for (let i = 0; i < count; i++) length = length * 256 + (bytes[start + i] ?? 0);
    if (length < 0x80 || length < 256 ** (count - 1)) throw malformed("has a length that is not minimal");
    start += count;
  }
  const end = start + length;
  if (end > bytes.length) throw malformed("has a length that exceeds the bytes there are");
  return { tag, content: bytes.subarray(start, end), raw: bytes.subarray(at, end) };
}

function encodeHeader(tag: number, length: number): Buffer {
  if (length < 0x80) return Buffer.from([tag, length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest & 0xff);
  return Buffer.from([tag, 0x80 | bytes.length, ...bytes]);
}

/** Arcs may have the 128 bits of a UUID. */
function base128(arc: bigint): number[] {
  const out = [Number(arc & 0x7fn)];
  for (let rest = arc >> 7n; rest > 0n; rest >>= 7n) out.unshift(0x80 | Number(rest & 0x7fn));
  return out;
}
