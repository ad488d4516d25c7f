import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatIp, isLoopback, parseIp, parsePrefix } from "./ip.ts";

describe("ip", () => {
  test("what is parsed prints in its canonical form and parses to the same bytes", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
    );
    fc.assert(
      fc.property(bytes, (address) => {
        expect(parseIp(formatIp(address))).toEqual(address);
      }),
    );
  });

  test.each([
    ["0:0:0:0:0:0:0:1", "::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["::", "::"],
    ["fe80::", "fe80::"],
    ["::ffff:1.2.3.4", "::ffff:1.2.3.4"],
  ])("%s is %s", (text, canonical) => expect(formatIp(parseIp(text) ?? new Uint8Array())).toBe(canonical));

  test.each(["", "1.2.3", "01.2.3.4", "1.2.3.4 ", "fe80::1%eth0", "1::2::3", "::g"])("%j is no address", (text) =>
    expect(parseIp(text)).toBeUndefined(),
  );

  test("prefixes", () => {
    expect(parsePrefix("10.0.0.0/8")).toMatchObject({ family: 4, bits: 8 });
    expect(parsePrefix("::/0")).toMatchObject({ family: 6, bits: 0 });
    expect(parsePrefix("10.0.0.0/99")).toEqual({
      error: 'netip.ParsePrefix("10.0.0.0/99"): prefix length out of range',
    });
    expect(parsePrefix("10.0.0.0")).toEqual({ error: `netip.ParsePrefix("10.0.0.0"): no '/'` });
    expect(parsePrefix("10.0.0.0/08")).toHaveProperty("error");
    expect(parsePrefix("10.0.0.0/+8")).toHaveProperty("error");
  });
});

test.each([
  ["127.0.0.1", true],
  ["127.255.0.6", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["128.0.0.1", false],
  ["127.evil.example", false],
  ["::ffff:10.0.0.1", false],
  ["", false],
])("%s is loopback: %s", (address, loopback) => expect(isLoopback(address)).toBe(loopback));
