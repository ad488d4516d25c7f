/** An ECDSA signature as JWTs have it, its two numbers side by side, in; as certificates and OpenSSL have it out. */
import { sequence, unsignedInteger } from "./der.ts";

/**
 * Node takes the first form too, but only beside the key in an object, of which it first tries whether that is a key: half as
 * much again as the signature.
 */
export function ecdsaSignature(numbers: Uint8Array): Buffer {
  const half = numbers.length / 2;
  return sequence(unsignedInteger(numbers.subarray(0, half)), unsignedInteger(numbers.subarray(half)));
}
