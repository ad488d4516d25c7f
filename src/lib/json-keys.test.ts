import { expect, test } from "vitest";
import { maxRepeatedKeys, repeatedKeys } from "./json-keys.ts";
import { parseWithRepeated } from "./parse-repeated.ts";

test.each([
  ['{"a":1,"b":{"a":2}}', []],
  ['{"a":1,"b":[{"c":1},{"c":2}]}', []],
  ['{"x":["a","a"],"y":"a\\":{"}', []],
  ['{"a":1 , "a" : 2}', ["a"]],
  ['{"x":{"a":1,"\\u0061":2}}', ["x.a"]],
  ['{"l":[1,"x",{"c":[{"d":1,"d":2}],"c":3}]}', ["l[2].c[0].d", "l[2].c"]],
  ['[{"op":"add","op":"add"}]', ["[0].op"]],
  ['{"__proto__":{"a":":"},"b":{"__proto__":1,"__proto__":2}}', ["b.__proto__"]],
])("%s", (text, paths) => {
  expect(repeatedKeys(text).map(({ path }) => path)).toEqual(paths);
  const steps = parseWithRepeated(text);
  for (let step = steps.next(); ; step = steps.next())
    if (step.done) {
      expect(step.value).toEqual({ value: JSON.parse(text), repeated: repeatedKeys(text) });
      break;
    }
});

test("the line is that of the later value", () => {
  expect(repeatedKeys('{\n"a": 1,\n"a":\n2}')).toEqual([{ key: "a", path: "a", line: 4 }]);
});

test("of very many some are told", () => {
  expect(repeatedKeys(`{${'"a":1,'.repeat(10_000)}"a":1}`)).toHaveLength(maxRepeatedKeys);
});
