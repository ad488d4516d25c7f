/** Protobuf without schemas: just enough to speak xDS and to find names, so that the load costs little beside the server. */

export interface Field {
  readonly number: number;
  /** Of fields with a length; empty for numbers. */
  readonly bytes: Uint8Array;
  readonly value: number;
}

const none = new Uint8Array(0);

export function* fields(message: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = message[at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const [number, type] = [Math.floor(tag / 8), tag % 8];
    if (type === 2) {
      const length = varint();
      yield { number, bytes: message.subarray(at, at + length), value: 0 };
      at += length;
    } else if (type === 0) yield { number, bytes: none, value: varint() };
    else {
      at += type === 1 ? 8 : 4;
      yield { number, bytes: none, value: 0 };
    }
  }
}

export const bytesOf = (message: Uint8Array, number: number): Uint8Array | undefined =>
  fields(message).find((field) => field.number === number)?.bytes;

const utf8 = new TextDecoder();

export const textOf = (bytes: Uint8Array | undefined): string => (bytes ? utf8.decode(bytes) : "");

function varintOf(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

/** A field with a length; nothing where it is empty text. */
export function field(number: number, content: Uint8Array | string): Buffer {
  if (content === "") return Buffer.alloc(0);
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  return Buffer.concat([varintOf(number * 8 + 2), varintOf(bytes.length), bytes]);
}

export const numberField = (number: number, value: number): Buffer =>
  Buffer.concat([varintOf(number * 8), varintOf(value)]);
