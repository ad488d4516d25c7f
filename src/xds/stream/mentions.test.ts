import { expect, test } from "vitest";
import { mentioned } from "./mentions.ts";

test.each([
  ["Error adding/updating cluster(s) outbound|80||a.com: bad", ["outbound|80||a.com"]],
  ["outbound|80||a.com.au is bad", []],
  ["refused: outbound|80||a.com.", ["outbound|80||a.com"]],
  ["refused: outbound|80||a.com. Next", ["outbound|80||a.com"]],
  ["refused: outbound|80||a.com./x", ["outbound|80||a.com"]],
  ["listener 0.0.0.0_80 has no chain", ["0.0.0.0_80"]],
  ["listener 0.0.0.0_8080 has no chain", []],
  ["virtual *:80, default/own", ["*:80", "default/own"]],
  ["", []],
])("%j", (message, named) => {
  const names = ["outbound|80||a.com", "0.0.0.0_80", "*:80", "default/own", ""];
  expect([...mentioned(message, names)]).toEqual(named);
});

test("a text is not searched once for each of a hundred thousand names", () => {
  let searches = 0;
  const message = Object.assign(Object("outbound|80||s7.default is bad") as string, {
    indexOf(name: string, from?: number) {
      searches++;
      return String.prototype.indexOf.call(this, name, from);
    },
  });
  const names = Array.from({ length: 100_000 }, (_, i) => `outbound|80||s${i}.default`);
  expect([...mentioned(message, names)]).toEqual(["outbound|80||s7.default"]);
  expect(searches).toBe(1);
});
