import { expect, test } from "vitest";
import { isPathTemplate, pathTemplate } from "./path-template.ts";

test.each([
  ["/foo/{*}", "/foo/*"],
  ["/{**}", "/**"],
  ["/foo/{**}/bar", "/foo/**/bar"],
  ["/{*}/foo/{**}/", "/*/foo/**/"],
  ["/a.b-c_d~%20!$&'()+,;:@=/{*}", "/a.b-c_d~%20!$&'()+,;:@=/*"],
])("%s is a template", (path, template) => {
  expect(isPathTemplate(path)).toBe(true);
  expect(pathTemplate(path)).toBe(template);
});

/** A stock Envoy 1.40 ends itself over the first of these, and refuses the listener for the others. */
test.each([
  ["foo/{*}"],
  ["/{**}/{*}"],
  ["/{**}/a/{**}"],
  ["//{*}"],
  ["/a//{*}"],
  ["/a b/{*}"],
  ["/é/{*}"],
  ["/a?b/{*}"],
  ["/{*}.txt"],
  ["/x{*}"],
  ["/*/{*}"],
  ["/{name}/{*}"],
  [`/${"x".repeat(255)}/{*}`],
])("%s is none, and does not reach Envoy", (path) => {
  expect(isPathTemplate(path)).toBe(true);
  expect(pathTemplate(path)).toBeUndefined();
});
