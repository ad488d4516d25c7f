import { describe, expect, test } from "vitest";
import { parseEgressHosts } from "./egress-hosts.ts";

describe("egress hosts", () => {
  test.each([
    [["./*"], "shop", "a.com", true],
    [["./*"], "bank", "a.com", false],
    [["*/*"], "bank", "a.com", true],
    [["bank/*.com"], "bank", "a.com", true],
    [["bank/*.com"], "bank", "*.a.com", true],
    [["bank/a.com"], "bank", "b.com", false],
    [["~/*"], "shop", "a.com", false],
    [["*/*", "~bank/a.com"], "bank", "a.com", false],
    [["*/*", "~bank/a.com"], "shop", "a.com", true],
    [["*/*", "~/*.internal"], "shop", "x.internal", false],
    [["no-slash"], "shop", "no-slash", false],
  ])("%j: service %s/%s %s", (hosts, namespace, host, imported) => {
    expect(parseEgressHosts(hosts, "shop").importsService(namespace, host)).toBe(imported);
  });

  test("a VirtualService for a wildcard is imported by a name it covers, a Gateway API route is not", () => {
    const hosts = parseEgressHosts(["*/a.example.com"], "shop");
    expect(hosts.importsVirtualService("shop", ["*.example.com"], false)).toBe(true);
    expect(hosts.importsVirtualService("shop", ["*.example.com"], true)).toBe(false);
    expect(hosts.importsVirtualService("shop", ["b.example.com"], false)).toBe(false);
  });

  test("thousands of names are not looked up one by one", () => {
    const many = Array.from({ length: 5_000 }, (_, i) => `./h${i}.com`);
    const hosts = parseEgressHosts(many, "shop");
    expect(hosts.exact).toBeUndefined();
    expect([hosts.importsService("shop", "h4999.com"), hosts.importsService("bank", "h4999.com")]).toEqual([
      true,
      false,
    ]);
  });

  test("only names without wildcards can be looked up one by one", () => {
    expect(parseEgressHosts(["bank/a.com", "./b.com"], "shop").exact).toEqual([
      ["bank", "a.com"],
      ["shop", "b.com"],
    ]);
    expect(parseEgressHosts(["bank/a.com", "./*"], "shop").exact).toBeUndefined();
    expect(parseEgressHosts(["*/a.com"], "shop").exact).toBeUndefined();
  });
});
