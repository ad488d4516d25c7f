import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FairleadError } from "../lib/index.ts";
import {
  checkDer,
  encode,
  oid,
  oidText,
  positiveInteger,
  readDer,
  sequence,
  tags,
  time,
  unsignedInteger,
} from "./der.ts";

const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");

describe("DER", () => {
  test("integers come back as they went in, minimally", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 1n << 300n }), (value) => {
        const hex = value.toString(16);
        const encoded = unsignedInteger(bytes(hex.length % 2 === 0 ? hex : `0${hex}`));
        const magnitude = positiveInteger(readDer(encoded).take(tags.integer).content);
        expect(BigInt(`0x${Buffer.from(magnitude).toString("hex")}`)).toBe(value);
      }),
    );
  });

  test("object identifiers have no number that Go could not read", () => {
    expect(() => oid("2.25.208934342929281354107554591596749182101")).toThrow("too large a number");
    expect(oidText(readDer(oid("1.2.2147483647")).take(tags.oid).content)).toBe("1.2.2147483647");
    expect(() => oid("1.2.2147483648")).toThrow("too large a number");
  });

  test("object identifiers come back as they went in", () => {
    const dotted = fc.tuple(fc.nat(1), fc.nat(39), fc.array(fc.nat(2 ** 31 - 1), { minLength: 1, maxLength: 10 }));
    fc.assert(
      fc.property(dotted, ([first, second, rest]) => {
        const text = [first, second, ...rest].join(".");
        expect(oidText(readDer(oid(text)).take(tags.oid).content)).toBe(text);
      }),
    );
  });

  test("any content length is read back", () => {
    fc.assert(
      fc.property(fc.nat(70_000), (length) => {
        const encoded = encode(tags.octetString, Buffer.alloc(length));
        checkDer(encoded);
        expect(readDer(encoded).take(tags.octetString).content.length).toBe(length);
      }),
      { numRuns: 50 },
    );
  });

  test("times change form in 2050", () => {
    expect(time(new Date("2049-12-31T23:59:59Z")).toString("latin1")).toContain("491231235959Z");
    expect(time(new Date("2050-01-01T00:00:00Z")).toString("latin1")).toContain("20500101000000Z");
  });

  test.each([
    ["indefinite length", "30800201000000"],
    ["length in more bytes than needed", "3081030201 00".replace(" ", "")],
    ["length with a leading zero", `30820003020100`],
    ["length past the end", "3005020100"],
    ["length of five bytes", "30850000000003020100"],
    ["a tag of two bytes", "1f8101020100"],
    ["something after the end", "30030201000500"],
    ["a cut header", "30"],
  ])("%s is refused", (_, hex) => expect(() => checkDer(bytes(hex))).toThrow(FairleadError));

  test("nesting of a thousand is refused without recursion", () => {
    let deep = sequence();
    for (let i = 0; i < 1000; i++) deep = sequence(deep);
    expect(() => checkDer(deep)).toThrow("nested deeper");
  });

  test("random bytes are refused or accepted, never anything else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (random) => {
        try {
          checkDer(random);
        } catch (error) {
          expect(error).toBeInstanceOf(FairleadError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
