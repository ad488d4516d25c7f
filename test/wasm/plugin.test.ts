/** A WasmPlugin from its object to the request that its module answers: the pull secret, the agent, a registry, an Envoy. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, httpStatus } from "../../src/agent/testing.ts";
import { answeringModule, artifactImage, startTestServer, type TestServer } from "../../src/agent/wasm/testing.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { type AgentPlane, startAgentPlane } from "../agent-plane.ts";
import { freePorts } from "../free-ports.ts";
import { findEnvoy, lacks } from "../require.ts";

const namespace = "edge";
const labels = { istio: "edge" };
const metadata = (name: string) => ({ name, namespace });

function objectsOf(port: number, registry: string): readonly KubeObject[] {
  const auth = Buffer.from("puller:secret").toString("base64");
  const docker = Buffer.from(JSON.stringify({ auths: { [registry]: { auth } } })).toString("base64");
  return [
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...metadata("gateway"), labels },
      spec: { serviceAccountName: "gateway", containers: [{ name: "istio-proxy", args: ["proxy", "router"] }] },
      status: { phase: "Running", podIP: "127.0.0.1", podIPs: [{ ip: "127.0.0.1" }] },
    },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: metadata("registry"),
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": docker },
    },
    {
      apiVersion: "networking.istio.io/v1",
      kind: "Gateway",
      metadata: metadata("edge"),
      spec: {
        selector: labels,
        servers: [{ port: { number: port, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
      },
    },
    {
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: metadata("edge"),
      spec: { hosts: ["*"], gateways: ["edge"], http: [{ directResponse: { status: 200 } }] },
    },
  ];
}

const plugin = (url: string): KubeObject => ({
  apiVersion: "extensions.istio.io/v1alpha1",
  kind: "WasmPlugin",
  metadata: metadata("answer"),
  spec: { selector: { matchLabels: labels }, url, imagePullSecret: "registry" },
});

describe.skipIf(lacks("envoy"))("a WasmPlugin of a gateway", () => {
  const folder = mkdtempSync(join(tmpdir(), "fl-plugin-"));
  let registry: TestServer;
  let plane: AgentPlane;
  let port = 0;

  beforeAll(async () => {
    registry = await startTestServer();
    [port = 0] = await freePorts(1);
    plane = await startAgentPlane(objectsOf(port, registry.host), namespace);
    const pod = { account: "gateway", address: "127.0.0.1", labels, type: "router" as const, env: {} };
    await plane.startAgent(folder, pod, { envoyBinary: findEnvoy() ?? "" });
  });
  afterAll(async () => {
    await plane?.close();
    await registry?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const image = (tag: string): string => `oci://${registry.host}/team/answer:${tag}`;
  /** Only who has the secret is given the manifest. */
  const push = (tag: string, status: number): void => {
    registry.push("team/answer", tag, artifactImage(answeringModule(status)));
    const path = `/v2/team/answer/manifests/${tag}`;
    const open = registry.paths.get(path);
    registry.paths.set(path, (request, response) => {
      if (request.headers.authorization === `Basic ${Buffer.from("puller:secret").toString("base64")}`)
        open?.(request, response);
      else response.writeHead(401, { "www-authenticate": 'Basic realm="registry"' }).end();
    });
  };
  const answers = (status: number) =>
    eventually(
      () => httpStatus(port, "/"),
      (answer) => answer.status === status,
    );

  test("is run with a module that only its pull secret gives access to", async () => {
    await answers(200);
    push("v1", 418);
    plane.controlPlane.apply([plugin(image("v1"))]);
    await answers(418);
    push("v2", 419);
    plane.controlPlane.apply([plugin(image("v2"))]);
    await answers(419);
    expect(plane.controlPlane.refusals()).toEqual([]);
  });

  test("keeps what worked where the next module cannot be had", async () => {
    const asked = (): boolean => registry.requests.some((one) => one.startsWith("GET /v2/team/answer/manifests/none"));
    plane.controlPlane.apply([plugin(image("none"))]);
    await expect.poll(asked).toBe(true);
    await plane.controlPlane.settled();
    expect((await httpStatus(port, "/")).status).toBe(419);
    plane.controlPlane.remove([plugin(image("none"))]);
    await answers(200);
  });
});
