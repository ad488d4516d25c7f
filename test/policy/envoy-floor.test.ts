/** R05: holes of Envoy itself: who runs one that is known to have them is told, and what they were in is sent to nobody unasked. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { fixes, missingFixes, versionOf } from "../../scripts/envoy-floor.mjs";
import { envoyVersion } from "../../scripts/envoy-path.mjs";
import { preflight } from "../../scripts/preflight/checks.mjs";
import { createMachine } from "../../scripts/preflight/machine.mjs";
import type { KubeObject } from "../../src/model/index.ts";
import { pod, service, smallMesh } from "../render/objects.ts";
import { renderProxy } from "../render/offline.ts";
import { findEnvoy, lacks } from "../require.ts";

const work = mkdtempSync(join(tmpdir(), "fairlead-floor-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** What the preflight says of an Envoy that gives itself this version. */
async function findingOf(version: string) {
  const envoy = join(work, `envoy-${version}`);
  writeFileSync(envoy, `#!/bin/sh\necho "$0  version: 0123abc/${version}/Clean/RELEASE/BoringSSL"\n`);
  chmodSync(envoy, 0o755);
  const machine = createMachine({ ...process.env, FAIRLEAD_ENVOY: envoy });
  const findings = await preflight(machine, { purpose: "test", root: join(import.meta.dirname, "../..") });
  return findings.find(({ name }) => name.endsWith(envoy));
}

describe("R05: known holes of Envoy", () => {
  test("R05: an Envoy below the floor of its line is warned of, with the bulletins that it lacks", async () => {
    expect(await findingOf("1.38.2")).toMatchObject({
      state: "warning",
      detail: expect.stringMatching(/^1\.38\.2 lacks .*ISTIO-SECURITY-2026-005 \(CVE-2026-47778, .*\)$/),
      remedy: expect.stringContaining(envoyVersion),
    });
    expect(await findingOf("1.38.4")).toMatchObject({ state: "ok" });
    expect(await findingOf("1.33.14")).toMatchObject({ state: "warning" });
    expect(await findingOf("1.41.0-dev")).toMatchObject({ state: "ok" });
  });

  test("R05: each fix is missed one release before it, and by no later line", () => {
    for (const { what, releases } of fixes) {
      for (const release of releases) {
        const [major, minor = 0, patch = 0] = release.split(".").map(Number);
        expect(missingFixes(release)).not.toContain(what);
        expect(missingFixes(`${major}.${minor}.${patch - 1}`)).toContain(what);
        expect(missingFixes(`${major}.40.0`)).not.toContain(what);
      }
      expect(missingFixes("1.30.0")).toContain(what);
    }
  });

  test("R05: the Envoy that comes with Fairlead lacks no fix that is known", () => {
    expect(missingFixes(envoyVersion)).toEqual([]);
  });

  test.skipIf(lacks("envoy"))("R05: a real Envoy tells its version", () => {
    expect(versionOf(findEnvoy() ?? "")).toMatch(/^1\.\d+\.\d+$/);
  });

  const always = [
    ...["http.cors.v3.Cors", "http.fault.v3.HTTPFault", "http.grpc_stats.v3.FilterConfig", "http.router.v3.Router"],
    ...["listener.http_inspector.v3.HttpInspector", "listener.original_dst.v3.OriginalDst"],
    "listener.tls_inspector.v3.TlsInspector",
    ...["network.http_connection_manager.v3.HttpConnectionManager", "network.tcp_proxy.v3.TcpProxy"],
  ];
  test.each([
    ["istio-proxy", always],
    ["envoy", [...always, "http.header_mutation.v3.HeaderMutation"]],
  ] as const)("R05: %s is sent no filter that nobody asked for, but these", async (profile, expected) => {
    const used = new Set<string>();
    for (const objects of [smallMesh(), gatewayMesh()]) {
      const { listeners, clusters, routes } = await renderProxy({ objects, profile });
      const text = JSON.stringify([[...listeners.values()], [...clusters.values()], [...routes.values()]]);
      for (const [, type = ""] of text.matchAll(/"type\.googleapis\.com\/envoy\.extensions\.filters\.([^"]+)"/g))
        used.add(type);
    }
    expect([...used].sort()).toEqual(expected.toSorted());
  });
});

function gatewayMesh(): readonly KubeObject[] {
  return [
    pod("edge", { proxy: "router" }),
    service("web"),
    {
      apiVersion: "networking.istio.io/v1",
      kind: "Gateway",
      metadata: { name: "edge", namespace: "default" },
      spec: {
        selector: { app: "edge" },
        servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
      },
    },
  ];
}
