import { describe, expect, test } from "vitest";
import { createReadNames } from "./name-blocks.ts";
import { createNamePlaces } from "./name-places.ts";

const tag = 0x1a;
const block = (names: readonly string[]): Buffer =>
  Buffer.concat(
    names.map((name) => {
      const bytes = Buffer.from(name);
      const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
      return Buffer.concat([Buffer.from([tag, ...length]), bytes]);
    }),
  );
const services = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `outbound|80||svc-${i}.ns-${i % 10}.svc.cluster.local`);
const shuffled = (names: readonly string[], step: number): string[] =>
  names.map((_, i) => names[(i * step + 3) % names.length] ?? "");

describe("names of a request", () => {
  test("come as they were sent, whatever stands around them", () => {
    const read = createReadNames(tag);
    const names = services(200);
    for (let i = 0; i < 4; i++) {
      const message = Buffer.concat([Buffer.from([9, 9, 9]), block(names), Buffer.from([0x32, 1, 65])]);
      const found = read(message, 3);
      expect([found?.names, found?.bytes.length]).toEqual([names, block(names).length]);
    }
  });

  test("are one list for all who ask for the same, in any order", () => {
    const read = createReadNames(tag);
    const names = services(201);
    const first = [read(block(names), 0), read(block(shuffled(names, 7)), 0)].map((found) => found?.names);
    expect(new Set(first.flat()).size).toBe(201);
    const later = [11, 13, 17].map((step) => read(block(shuffled(names, step)), 0)?.names);
    expect(new Set(later).size).toBe(1);
    expect(new Set(later[0])).toEqual(new Set(names));
  });

  test("that only resemble known ones are read for themselves", () => {
    const read = createReadNames(tag);
    const names = services(100);
    for (const step of [1, 7, 9]) read(block(shuffled(names, step)), 0);
    const twice = names.with(5, names[6] ?? "");
    const other = names.with(5, (names[5] ?? "").replace("svc", "sfc"));
    const more = [...names, "outbound|80||more"];
    for (const asked of [twice, other, more, names.slice(1)])
      for (const step of [1, 3]) {
        const order = asked.length % 3 === 0 ? asked : shuffled(asked, step);
        expect(read(block(order), 0)?.names.toSorted()).toEqual(order.toSorted());
      }
  });

  test("that were chosen to meet in few places are not compared: many steps for each name would be a long turn", () => {
    const count = 40_000;
    const bits = Math.ceil(Math.log2(count * 2));
    // The multiplier of the hash turned around, modulo 2^32.
    let inverse = 1;
    for (let i = 0; i < 5; i++) inverse = Math.imul(inverse, 2 - Math.imul(0x9e3779b1, inverse));
    const names = Array.from({ length: count }, (_, i) => {
      const wanted = ((i % 60) << bits) | (Math.floor(i / 60) * 100) | 0;
      const bytes = Buffer.of(tag, 4, 0, 0, 0, 0);
      bytes.writeInt32LE(Math.imul(wanted ^ (wanted >>> 16), inverse), 2);
      return bytes;
    });
    const asked = Buffer.concat(names);
    const others = services(4000);
    expect(createNamePlaces(asked, count).areIn(asked, 0, asked.length)).toBe(false);
    expect(createNamePlaces(block(others), others.length).areIn(block(others), 0, block(others).length)).toBe(true);
  });

  test("of other alphabets are not mistaken for what their bytes look like", () => {
    const read = createReadNames(tag);
    const pad = services(100);
    const looks = [...pad, "\u00c3\u00a9"];
    const is = [...pad, "\u00e9", "xx"];
    for (const asked of [looks, looks, looks, is, is, is]) {
      const found = read(block(asked.toReversed()), 0);
      expect(new Set(found?.names)).toEqual(new Set(asked));
    }
    const long = [...pad, "x".repeat(300)];
    for (const step of [1, 3, 5, 7])
      expect(new Set(read(block(shuffled(long, step)), 0)?.names)).toEqual(new Set(long));
  });

  test("that are chosen to be hard to tell apart are told apart", () => {
    const read = createReadNames(tag);
    const pairs = (count: number): string[] =>
      count === 0 ? [""] : pairs(count - 1).flatMap((rest) => [`Aa${rest}`, `BB${rest}`]);
    const names = pairs(9);
    for (const step of [1, 3, 5, 7])
      expect(new Set(read(block(shuffled(names, step)), 0)?.names)).toEqual(new Set(names));
  });

  test("without an end are refused", () => {
    const read = createReadNames(tag);
    for (let i = 0; i < 3; i++) expect(read(block(services(100)).subarray(0, -1), 0)).toBeUndefined();
    // Nor are they taken for known ones, where the last says to be longer than it is.
    for (let i = 0; i < 3; i++) read(block(services(100)), 0);
    const names = block(services(100));
    const last = names.lastIndexOf(tag) + 1;
    names[last] = (names[last] ?? 0) + 1;
    expect(read(names, 0)).toBeUndefined();
  });
});
