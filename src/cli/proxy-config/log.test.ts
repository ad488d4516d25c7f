import { expect, test } from "vitest";
import { parseLevels } from "./log.ts";

test.each([
  ["", []],
  ["debug", ["level=debug"]],
  ["warn", ["level=warning"]],
  ["http:debug,rbac=trace", ["http=debug", "rbac=trace"]],
  // The one for all comes first, since it would undo the others.
  ["http:debug,info", ["level=info", "http=debug"]],
  ["envoy::http:debug", ["http=debug"]],
])("%j", (text, expected) => {
  expect(parseLevels(text)).toEqual(expected);
});

test.each(["loud", "http:loud", "http:debug:more", "&http=debug"])("%s is refused", (text) => {
  expect(() => parseLevels(text)).toThrow("unrecognized logging level");
});
