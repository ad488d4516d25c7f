import { expect, test } from "vitest";
import { HttpConnectionManager_PathWithEscapedSlashesAction as SlashAction } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { normalizePath } from "./normalize-path.ts";

const base = { normalizePath: true, mergeSlashes: false, pathWithEscapedSlashesAction: SlashAction.KEEP_UNCHANGED };
const decode = { ...base, mergeSlashes: true, pathWithEscapedSlashesAction: SlashAction.UNESCAPE_AND_FORWARD };

test.each([
  ["/a/../b?x=../y#z", base, "/b?x=../y"],
  ["/a/./b/..", base, "/a/"],
  ["/%61dmin", base, "/admin"],
  ["/a%2Fb", base, "/a%2Fb"],
  ["/a\\b", base, "/a/b"],
  ["//a//b", base, "//a//b"],
  ["//a%2Fb", decode, "/a/b"],
  ["/a/..;/b", base, "/b"],
  ["/a/../b", { ...base, normalizePath: false }, "/a/../b"],
])("%s becomes %3$s", (path, settings, expected) => {
  expect(normalizePath(path, settings)).toEqual({ path: expected });
});

test("what has no plain form is refused", () => {
  expect(normalizePath("/a%00", base)).toMatchObject({ status: 400 });
  expect(normalizePath("/a%2fb", { ...base, pathWithEscapedSlashesAction: SlashAction.REJECT_REQUEST })).toMatchObject({
    status: 400,
  });
});
