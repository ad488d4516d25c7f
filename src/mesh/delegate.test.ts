import { describe, expect, test } from "vitest";
import { mergeDelegate } from "./delegate.ts";

describe("mergeDelegate", () => {
  test("what the delegate leaves open comes from the root; names are joined", () => {
    const root = { name: "root", match: [{ uri: { prefix: "/a" } }], timeout: "5s", retries: { attempts: 1 } };
    const [merged] = mergeDelegate(root, [
      { name: "leaf", match: [{ uri: { prefix: "/a/b" } }], timeout: "1s", route: [] },
    ]);
    expect(merged).toEqual({
      name: "root-leaf",
      match: [{ uri: { prefix: "/a/b" } }],
      timeout: "1s",
      retries: { attempts: 1 },
      route: [],
    });
  });

  test.each([
    ["prefix outside", { uri: { prefix: "/a" } }, { uri: { prefix: "/b" } }, false],
    ["exact within a prefix", { uri: { prefix: "/a" } }, { uri: { exact: "/a/x" } }, true],
    ["prefix within an exact", { uri: { exact: "/a" } }, { uri: { prefix: "/a" } }, false],
    ["any regex beside another", { uri: { regex: ".*" } }, { uri: { exact: "/a" } }, false],
    ["other header", { headers: { a: { exact: "1" } } }, { headers: { b: { exact: "1" } } }, true],
    ["same header, other value", { headers: { a: { exact: "1" } } }, { headers: { a: { exact: "2" } } }, false],
    ["other port", { port: 80 }, { port: 81 }, false],
    ["root for one namespace, leaf for all", { sourceNamespace: "x" }, {}, false],
    ["a gateway that the root has not", { gateways: ["a"] }, { gateways: ["b"] }, false],
  ])("%s", (_case, root, leaf, kept) => {
    expect(mergeDelegate({ match: [root] }, [{ match: [leaf] }])).toHaveLength(kept ? 1 : 0);
  });

  test("each of the delegate's matches must fit into one of the root's", () => {
    const root = { match: [{ uri: { prefix: "/a" } }, { uri: { prefix: "/b" } }] };
    const fits = { match: [{ uri: { exact: "/a/1" } }, { uri: { exact: "/b/1" } }] };
    const halfFits = { match: [{ uri: { exact: "/a/1" } }, { uri: { exact: "/c" } }] };
    expect(mergeDelegate(root, [fits])[0]?.match).toEqual([{ uri: { exact: "/a/1" } }, { uri: { exact: "/b/1" } }]);
    expect(mergeDelegate(root, [halfFits])).toEqual([]);
  });
});
