import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { issueCertificate } from "./certificate.ts";
import { parseRevocations } from "./crl.ts";
import { generateKey } from "./key.ts";
import { formatCrl, revoke, testCa } from "./testing.ts";

describe("lists of revoked certificates", () => {
  test("a certificate is revoked by its issuer's list alone, under its own serial", async () => {
    const [ca, other] = [await testCa("ca"), await testCa("other")];
    const [first, second] = [await ca.leaf("a"), await ca.leaf("b")];
    const list = parseRevocations(revoke(ca, [first]), [ca.certificate]);
    expect(list.size).toBe(1);
    expect([list.has(first), list.has(second), list.has(await other.leaf("a"))]).toEqual([true, false, false]);
    const both = parseRevocations(revoke(ca, [first]) + revoke(other, []), [other.certificate, ca.certificate]);
    expect(both.has(first)).toBe(true);
    expect(parseRevocations("", [ca.certificate]).has(first)).toBe(false);
  });

  test("a list that another CA has signed, even under the same name, is refused", async () => {
    const [ca, double] = [await testCa("ca"), await testCa("ca")];
    const leaf = await ca.leaf("a");
    expect(() => parseRevocations(revoke(double, [leaf]), [ca.certificate])).toThrow("not signed by the CA");
    const { publicKey, privateKey } = await generateKey();
    const stranger = { publicKey, signer: { certificate: undefined, key: privateKey } };
    const terms = { profile: "ca", subject: { commonName: "x" }, now: new Date(), ttlMs: 1000 } as const;
    expect(() => parseRevocations(revoke(ca, []), [issueCertificate({ ...terms, ...stranger })])).toThrow();
  });

  test("who is given the lists must have one in force of every CA, and one that the CA may sign", async () => {
    const [ca, other] = [await testCa("ca"), await testCa("other")];
    const now = new Date();
    const at = (ms: number): Date => new Date(now.getTime() + ms);
    const cas = [ca.certificate, other.certificate];
    expect(parseRevocations(revoke(ca, []), cas).without(cas, now)).toEqual([other.certificate]);
    expect(parseRevocations(revoke(ca, []) + revoke(other, []), cas).without(cas, now)).toEqual([]);
    const lists = revoke(ca, [], at(60_000)) + revoke(other, [await other.leaf("a")], at(3_600_000));
    expect(parseRevocations(lists, cas).without(cas, now)).toEqual([]);
    expect(parseRevocations(lists, cas).without(cas, at(120_000))).toEqual([ca.certificate]);
    const { publicKey } = other.certificate;
    const terms = { subject: { commonName: "other" }, publicKey, now, ttlMs: 60_000 };
    const leaf = issueCertificate({ ...terms, profile: "leaf", signer: { certificate: undefined, key: other.key } });
    expect(parseRevocations(revoke({ certificate: leaf, key: other.key }, []), [leaf]).without([leaf], now)).toEqual([
      leaf,
    ]);
  });

  test("junk is refused and never ends the process", async () => {
    const ca = await testCa("ca");
    expect(() => parseRevocations("junk", [ca.certificate])).toThrow("no list");
    const good = Buffer.from(revoke(ca, [await ca.leaf("a")]).replaceAll(/-----.*-----|\n/g, ""), "base64");
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), (at, by) => {
        const bad = Buffer.from(good);
        bad[at] = (bad[at] ?? 0) ^ by;
        expect(() => parseRevocations(formatCrl(bad), [ca.certificate])).toThrow();
      }),
      { numRuns: 200 },
    );
  });
});
