import { describe, expect, test } from "vitest";
import { parseObjects } from "./load-objects.ts";

const map = (name: string, data: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n${data}`;

describe("documents of one file", () => {
  test("the line break before a separator is not part of a block scalar; the one at the end of the file is", () => {
    const text = `${map("a", "  x: |\n    one\n    two\n")}---\n${map("b", "  x: |\n    three\n")}`;
    expect(parseObjects("f", text).map(({ object }) => object.data)).toEqual([{ x: "one\ntwo" }, { x: "three\n" }]);
  });

  test("other scalars keep what they say", () => {
    const text = `${map("a", '  x: "one\\n"\n')}---\n${map("b", "  x: |+\n    two\n\n")}---\n${map("c", "  x: three\n")}`;
    expect(parseObjects("f", text).map(({ object }) => object.data)).toEqual([
      { x: "one\n" },
      { x: "two\n" },
      { x: "three" },
    ]);
  });

  test("an indented separator is text", () => {
    expect(parseObjects("f", map("a", "  x: |\n    one\n    ---\n    two\n"))[0]?.object.data).toEqual({
      x: "one\n---\ntwo\n",
    });
  });

  test("an error names the line of the file", () => {
    expect(() => parseObjects("f.yaml", `${map("a", "  x: y\n")}---\na: [\n`)).toThrow(
      /f\.yaml: .*\(8:|f\.yaml: .*9:/s,
    );
  });
});
