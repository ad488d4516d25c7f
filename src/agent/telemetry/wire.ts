/** Protobuf bytes in; their fields, one by one and without copies, out. For lines that come by the thousand, of which little is read. */
import { FairleadError } from "../../lib/index.ts";

const lengthDelimited = 2;

export class WireReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;
  /** Where the last field's content is, if it has a length or eight bytes; else both are 0. */
  start = 0;
  end = 0;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = start;
    this.#end = end;
  }

  /** The number of the next field; 0 at the end. */
  next(): number {
    if (this.#at >= this.#end) return 0;
    const tag = this.#varint();
    this.start = 0;
    this.end = 0;
    this.#skip(tag & 7);
    return tag >>> 3;
  }

  text(): string {
    return this.#bytes.toString("utf8", this.start, this.end);
  }

  /** The last field's eight bytes, as the nearest number. */
  fixed64(): number {
    return this.end - this.start === 8 ? Number(this.#bytes.readBigUInt64LE(this.start)) : 0;
  }

  /** The last field's content, as a message of its own. */
  inner(): WireReader {
    return new WireReader(this.#bytes, this.start, this.end);
  }

  #skip(wireType: number): void {
    if (wireType === lengthDelimited) {
      const length = this.#varint();
      this.start = this.#at;
      this.end = this.#at + length;
      this.#at = this.end;
    } else if (wireType === 1) {
      this.start = this.#at;
      this.#at += 8;
      this.end = this.#at;
    } else if (wireType === 0) this.#varint();
    else if (wireType === 5) this.#at += 4;
    else throw malformed();
    if (this.#at > this.#end) throw malformed();
  }

  /** Of more than 32 bits, the low ones: no field that is read here has more. */
  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#at < this.#end ? this.#bytes[this.#at++] : undefined;
      if (byte === undefined) throw malformed();
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw malformed();
  }
}

function malformed(): FairleadError {
  return new FairleadError("invalid", "a message is cut off or is no protobuf");
}
