import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApi, type TestApi } from "../apiserver/testing.ts";
import { runProgram } from "./program.ts";

interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

async function fairlead(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  tty = false,
): Promise<Ran> {
  let [out, err] = ["", ""];
  const status = await runProgram(["analyze", ...args], {
    env,
    cwd: process.cwd(),
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    tty,
    signal: new AbortController().signal,
  });
  return { status, out, err };
}

const virtualService = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: reviews
spec:
  hosts: [reviews]
  http:
  - route:
    - destination:
        host: reviews
        subset: v9
`;
const namespaceInfo = `apiVersion: v1
kind: Namespace
metadata: {name: plain}
`;

describe("analyze", () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-analyze-"));
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  const bad = file("bad.yaml", `# a comment\n---\n${virtualService}`);
  const good = file("good.yaml", virtualService.replace("\n        subset: v9", ""));
  const broken = file("broken.yaml", `${virtualService.replace("hosts: [reviews]", "hosts: 7")}`);
  const message = `Error [IST0101] (VirtualService default/reviews ${bad}:12) Referenced host+subset in destinationrule not found: "reviews+v9"`;
  afterAll(() => rmSync(dir, { recursive: true }));

  test("what is found goes to stdout with its place, and the status is istioctl's", async () => {
    const { status, out, err } = await fairlead(["--use-kube=false", bad]);
    expect(out).toBe(`${message}\n`);
    expect(err).toContain("Error: Analyzers found issues when analyzing namespace: default.\n");
    expect(status).toBe(79);
  });

  test("levels are coloured on a terminal only", async () => {
    expect((await fairlead(["--use-kube=false", bad], {}, true)).out).toContain("\u001b[1;31mError\u001b[0m [IST0101]");
    expect((await fairlead(["--use-kube=false", "--color=false", bad], {}, true)).out).toContain("Error [IST0101]");
    expect((await fairlead(["--use-kube=false", bad], { NO_COLOR: "1" }, true)).out).toContain("Error [IST0101]");
  });

  test("json and yaml never fail; the place stands beside the object", async () => {
    const { status, out } = await fairlead(["--use-kube=false", "-A", "-o", "json", bad]);
    expect(status).toBe(0);
    expect(JSON.parse(out)).toEqual([
      {
        code: "IST0101",
        documentationUrl: expect.stringMatching(/\/analysis\/ist0101\/\?ref=istioctl-analyze$/),
        level: "Error",
        message: 'Referenced host+subset in destinationrule not found: "reviews+v9"',
        origin: "VirtualService reviews",
        reference: `${bad}:12`,
      },
    ]);
    expect((await fairlead(["--use-kube=false", "-o", "yaml", bad])).out).toMatch(/^- code: IST0101\n/);
  });

  test("thresholds: of output and of failure, each for itself", async () => {
    const found = await fairlead([
      "--use-kube=false",
      "--failure-threshold=warning",
      "--output-threshold",
      "Error",
      bad,
    ]);
    expect([found.status, found.out]).toEqual([79, `${message}\n`]);
    expect((await fairlead(["--use-kube=false", "--output-threshold=Loud", bad])).status).toBe(2);
  });

  test("suppressed by code and object", async () => {
    const all = ["--use-kube=false", "-S", "IST0101=VirtualService default/*", bad];
    expect(await fairlead(all)).toEqual({
      status: 0,
      out: "\n",
      err: `\u2714 No validation issues found when analyzing ${bad}.\n`,
    });
    expect((await fairlead(["--use-kube=false", "-S", "nonsense", bad])).status).toBe(2);
  });

  test("nothing found, in several files and in a folder", async () => {
    const other = file("other.json", '{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"}}');
    const { status, err } = await fairlead(["--use-kube=false", good, other]);
    expect([status, err]).toEqual([
      0,
      `\u2714 No validation issues found when analyzing:\n  - ${good}\n  - ${other}\n`,
    ]);
    file("notes.txt", "no YAML");
    expect((await fairlead(["--use-kube=false", dir])).err).toContain(`Skipping file ${join(dir, "notes.txt")}`);
  });

  test("an object that cannot be read is told with its line; the others are looked at", async () => {
    const { status, err } = await fairlead(["--use-kube=false", broken, good]);
    expect(err).toContain(`Error(s) adding files: ${broken}:6: VirtualService/default/reviews spec.hosts`);
    expect(status).toBe(65);
    expect((await fairlead(["--use-kube=false", "--ignore-unknown", broken])).status).toBe(0);
    expect((await fairlead(["--use-kube=false", broken, bad])).status).toBe(79);
    expect((await fairlead(["--use-kube=false", join(dir, "absent.yaml")])).status).toBe(1);
  });

  test("-L lists every analyser with what it does", async () => {
    const { status, out } = await fairlead(["-L"]);
    expect(status).toBe(0);
    expect(out).toContain("* virtualservice.GatewayAnalyzer:\n    Checks the gateways");
    expect(out).not.toMatch(/:\n {4}\n/);
  });

  describe("with a cluster", () => {
    let api: TestApi;
    beforeAll(async () => {
      api = await startApi();
      expect((await api.kubectl("apply -f -", namespaceInfo)).code).toBe(0);
      expect((await api.kubectl(`apply -f ${good}`)).code).toBe(0);
    });
    afterAll(() => api.close());

    test("its objects count, and files stand for what is about to be applied", async () => {
      const env = { KUBECONFIG: api.kubeconfig };
      const live = await fairlead(["-A"], env);
      expect(live.out).toContain("Info [IST0102] (Namespace plain)");
      expect(live.out).toContain(
        'Error [IST0101] (VirtualService default/reviews) Referenced host not found: "reviews"',
      );
      expect(live.status).toBe(79);
      const planned = await fairlead([bad], env);
      expect(planned.out).toContain(`(VirtualService default/reviews ${bad}:12)`);
      expect(planned.out).not.toContain("Namespace plain");
    });
  });
});
