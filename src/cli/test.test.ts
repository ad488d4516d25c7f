/** Through the front door: objects and expectations in files, what holds and what no test touched out. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "./testing.ts";
import { clientAndWeb } from "./why/testing.ts";

const mesh = `${clientAndWeb}apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { selector: { app: web }, ports: [{ name: http, port: 80, targetPort: 8080 }] }
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: deny-admin, namespace: shop }
spec:
  selector: { matchLabels: { app: web } }
  action: DENY
  rules:
    - to: [{ operation: { paths: [/admin*] } }]
    - to: [{ operation: { paths: [/secret] } }]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: web, namespace: shop }
spec:
  hosts: [web]
  http:
    - name: old
      match: [{ uri: { prefix: /old } }]
      redirect: { uri: /new }
    - name: split
      fault: { abort: { httpStatus: 418, percentage: { value: 25 } } }
      match: [{ uri: { exact: /split } }]
      route: [{ destination: { host: web, port: { number: 80 } } }]
    - name: rest
      route: [{ destination: { host: web, port: { number: 80 }, subset: v1 } }]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: web, namespace: shop }
spec: { host: web, subsets: [{ name: v1, labels: { version: v1 } }] }
`;

const good = `
namespace: shop
tests:
  - name: admin is closed
    request: { from: client, to: web/admin/users, method: POST }
    expect: { status: 403, by: AuthorizationPolicy shop/deny-admin, identity: client.shop }
  - name: the rest is open
    request: { from: client, to: web/x, headers: { x-user: jason } }
    expect: { reaches: web.shop, subset: v1, route: rest, by: VirtualService shop/web, identity: client.shop }
  - request: { from: client, to: web/old/1 }
    expect: { status: 301, redirect: http://web/new }
  - request: { from: client, to: web/split }
    expect: { status: 418, share: 25 }
  - request: { from: outside, to: web.shop/x }
    expect: { reaches: web, identity: nobody }
`;

describe("test", () => {
  const dir = mkdtempSync(join(tmpdir(), "fl-test-"));
  const file = join(dir, "tests/web.yaml");
  beforeAll(() => {
    mkdirSync(join(dir, "tests"));
    writeFileSync(join(dir, "mesh.all.yaml"), mesh.trimStart());
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const run = (text: string, ...args: readonly string[]) => {
    writeFileSync(file, text);
    return runCli(["test", file, ...args], dir);
  };

  test("expectations that hold; what none of them touches is told", async () => {
    const { status, stdout, stderr } = await run(good);
    expect([stderr, status]).toEqual(["", 0]);
    expect(stdout.split("\n")).toEqual([
      "tests/web.yaml",
      "  ok   admin is closed",
      "  ok   the rest is open",
      "  ok   client to web/old/1",
      "  ok   client to web/split",
      "  ok   outside to web.shop/x",
      "",
      "4 of 5 routes, rules and policies are touched by a test",
      "  none: AuthorizationPolicy shop/deny-admin, spec.rules[1]",
      "",
      "5 passed, 0 failed",
      "",
    ]);
    expect((await runCli(["test", dir, "--fail-untouched"], dir)).status).toBe(1);
  });

  test("what does not hold is told with the verdict, and as JUnit with markup as text", async () => {
    const bad = `
namespace: shop
tests:
  - { name: "<admin> & co", request: { from: client, to: web/admin }, expect: { reaches: web } }
  - { name: who, request: { from: client, to: web/x }, expect: { identity: nobody, subset: v2, status: 200 } }
  - { name: share, request: { from: client, to: web/split }, expect: { status: 418 } }
  - { name: whom, request: { from: clinet, to: web }, expect: { reaches: web } }
`;
    const { status, stdout } = await run(bad, "--junit", "report.xml");
    expect(status).toBe(1);
    expect(stdout).toContain("  FAIL <admin> & co\n         does not reach web\n           403: DENY rule 0 of");
    expect(stdout).toContain("subset is v1, not v2");
    expect(stdout).toContain("status is none, not 200");
    expect(stdout).toContain(
      "the server takes the caller for spiffe://cluster.local/ns/shop/sa/client, not for nobody",
    );
    expect(stdout).toContain("75 %: status is none, not 418");
    expect(stdout).toContain("no proxy is called clinet");
    expect(stdout).toContain("0 passed, 4 failed");
    const xml = readFileSync(join(dir, "report.xml"), "utf8");
    expect(xml).toContain('<testsuites tests="4" failures="4"');
    expect(xml).toContain('<testcase name="&lt;admin&gt; &amp; co"');
  });

  test.each([
    [
      "tests: [{ request: { from: a, to: b }, expect: { stauts: 403 } }]",
      "stauts is not known",
      "did you mean status?",
    ],
    ["tests: [{ request: { from: a }, expect: { status: 403 } }]", "tests[0].request needs from and to", ""],
    ["tests: [{ request: { from: a, to: b }, expect: {} }]", "tests[0].expect expects nothing", ""],
    ["tests: [{ request: { from: a, to: b }, expect: { status: yes } }]", "tests[0].expect.status is no number", ""],
    ["a: 1", "has no list `tests`", "docs/test.md"],
    ["tests: [", "web.yaml:", ""],
  ])("%s is told in a line", async (text, cause, hint) => {
    const { status, stdout, stderr } = await run(text);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(cause);
    expect(stderr).toContain(hint);
    expect(stderr.split("\n").length).toBeLessThan(5);
  });
});
