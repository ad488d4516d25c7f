import { generateKeyPairSync, sign, verify } from "node:crypto";
import { expect, test } from "vitest";
import { ecdsaSignature } from "./ecdsa-signature.ts";

test("numbers lose leading zeros, and have one where they would be negative", () => {
  const numbers = Buffer.alloc(64);
  numbers[31] = 1;
  numbers[32] = 0x80;
  expect(ecdsaSignature(numbers).toString("hex")).toBe(`3026020101022100${"80".padEnd(64, "0")}`);
});

test("what was signed in one form is verified in the other, and nothing else is", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const [said, other] = [Buffer.from("a token"), Buffer.from("another token")];
  const signature = ecdsaSignature(sign("sha256", said, { key: privateKey, dsaEncoding: "ieee-p1363" }));
  expect(verify("sha256", said, publicKey, signature)).toBe(true);
  expect(verify("sha256", other, publicKey, signature)).toBe(false);
  expect(verify("sha256", said, publicKey, ecdsaSignature(Buffer.alloc(64)))).toBe(false);
});
