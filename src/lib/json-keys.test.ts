import { expect, test } from "vitest";
import { repeatedKey } from "./json-keys.ts";

test.each([
  ['{"a":1,"b":{"a":2}}', undefined],
  ['{"a":1,"b":[{"c":1},{"c":2}]}', undefined],
  ['{"a":1 , "a" : 2}', "a"],
  ['{"x":{"a":1,"\\u0061":2}}', "a"],
  ['{"x":["a","a"],"y":"a\\":{"}', undefined],
])("%s", (text, key) => {
  expect(repeatedKey(text)).toBe(key);
});
