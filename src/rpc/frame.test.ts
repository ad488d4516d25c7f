import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messageChunks, readMessages } from "./frame.ts";
import { uriNames } from "./peer.ts";
import { decodeMessage, encodeMessage, parseStatus, status } from "./status.ts";
import { formatTimeout, parseTimeout } from "./timeout.ts";

async function* from(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function collect(
  chunks: Iterable<Uint8Array>,
  options = { maxBytes: 1 << 20, encoding: undefined as string | undefined },
): Promise<Buffer[]> {
  const out: Buffer[] = [];
  for await (const message of readMessages(from(chunks), options)) out.push(Buffer.from(message));
  return out;
}

const frame = (body: Uint8Array, flag = 0): Uint8Array => {
  const header = Buffer.alloc(5);
  header.writeUInt8(flag);
  header.writeUInt32BE(body.length, 1);
  return Buffer.concat([header, body]);
};

describe("messages", () => {
  test("any messages, cut anywhere, come out whole", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }),
        fc.integer({ min: 1, max: 50 }),
        async (bodies, cut) => {
          const wire = Buffer.concat(bodies.map((body) => frame(body)));
          const chunks = Array.from({ length: Math.ceil(wire.length / cut) }, (_, i) =>
            wire.subarray(i * cut, (i + 1) * cut),
          );
          const got = await collect(chunks);
          expect(got.map((b) => b.toString("hex"))).toEqual(bodies.map((b) => Buffer.from(b).toString("hex")));
        },
      ),
      { numRuns: 100 },
    );
  });

  test("what is written can be read, whatever the sizes of its pieces", async () => {
    const sizes = [0, 1, 16_383, 16_384, 65_536, 200_000, 5, 70_000];
    const pieces = sizes.map((size, i) => Buffer.alloc(size, i + 1));
    const chunks = [...messageChunks(pieces)];
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThanOrEqual(65_536);
    const [got] = await collect(chunks);
    expect(got?.equals(Buffer.concat(pieces))).toBe(true);
  });

  test("a large piece is handed over as it is, not copied", () => {
    const shared = Buffer.alloc(300_000, 7);
    const views = [...messageChunks([shared])].filter((chunk) => chunk.length > 5);
    expect(views.every((view) => view.buffer === shared.buffer)).toBe(true);
  });

  test("a message past the cap is refused by its header alone", async () => {
    const header = frame(Buffer.alloc(0));
    header[1] = 0x10;
    await expect(collect([header])).rejects.toMatchObject({ status: status.resourceExhausted });
  });

  test("gzip is inflated, but not past the cap", async () => {
    const gzip = { maxBytes: 1000, encoding: "gzip" };
    expect((await collect([frame(gzipSync("hello"), 1)], gzip))[0]?.toString()).toBe("hello");
    await expect(
      collect([frame(gzipSync(Buffer.alloc(1 << 20)), 1)], { ...gzip, maxBytes: 5000 }),
    ).rejects.toMatchObject({ status: status.resourceExhausted });
    await expect(collect([frame(Buffer.from("junk"), 1)], gzip)).rejects.toMatchObject({ status: status.internal });
    await expect(collect([frame(gzipSync("x"), 1)])).rejects.toMatchObject({ status: status.internal });
  });

  test("a cut message and an unknown flag are errors", async () => {
    await expect(collect([frame(Buffer.from("hello")).subarray(0, 7)])).rejects.toMatchObject({
      status: status.internal,
    });
    await expect(collect([frame(Buffer.from("hello"), 3)])).rejects.toMatchObject({ status: status.internal });
  });
});

describe("texts on the wire", () => {
  test.each([
    ['plain text, kept: {}"~', 'plain text, kept: {}"~'],
    ["100%", "100%25"],
    ["line\nbreak", "line%0Abreak"],
    ["grüße", "gr%C3%BC%C3%9Fe"],
  ])("grpc-message %j", (text, wire) => {
    expect(encodeMessage(text)).toBe(wire);
    expect(decodeMessage(wire)).toBe(text);
  });

  test("a malformed escape stays, a malformed status is unknown", () => {
    expect(decodeMessage("50% off %zz")).toBe("50% off %zz");
    expect(["0", "14", "99", "x", undefined].map(parseStatus)).toEqual([0, 14, 2, 2, 2]);
  });

  test("grpc-timeout", () => {
    expect(["5S", "250m", "1H", "1500u", "1n", "99999999H", undefined].map(parseTimeout)).toEqual([
      5000,
      250,
      3_600_000,
      2,
      1,
      undefined,
      undefined,
    ]);
    expect(() => parseTimeout("5")).toThrow("malformed");
    expect(() => parseTimeout("123456789S")).toThrow("malformed");
    expect(parseTimeout(formatTimeout(1234))).toBe(1234);
  });

  test("a comma inside a SAN does not make a second one", () => {
    expect(uriNames("DNS:a.b, URI:spiffe://td/ns/a/sa/b")).toEqual(["spiffe://td/ns/a/sa/b"]);
    expect(uriNames('DNS:"x, URI:spiffe://td/ns/a/sa/root", URI:spiffe://td/ns/a/sa/b')).toEqual([]);
    expect(uriNames("othername:<unsupported>, URI:spiffe://td/ns/a/sa/b")).toEqual([]);
    expect(uriNames('URI:"spiffe://a, URI:spiffe://b"')).toEqual([]);
  });
});
