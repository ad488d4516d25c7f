import { expect, test } from "vitest";
import { parseYaml } from "./parse.ts";
import { yamlLines } from "./yaml-lines.ts";

const text = `# comment
kind: A
spec:
  selector:
    app: x
  list:
  - name: one
    port: 1
  - {name: two}
  block: |
    text
---
---
# only a comment
---
{"kind": "B",
 "items": [1,
   2]}
`;

test("every field has the line that its value starts on", () => {
  const [first, second] = yamlLines(text);
  expect(Object.fromEntries(first ?? [])).toMatchObject({
    "": 2,
    "spec.selector": 5,
    "spec.selector.app": 5,
    "spec.list[0].port": 8,
    "spec.list[1].name": 9,
  });
  expect(second?.get("items[1]")).toBe(18);
});

test("as many documents as parsing gives", () => {
  expect(yamlLines(text)).toHaveLength(parseYaml(text).length);
  expect(yamlLines("")).toEqual([]);
});
