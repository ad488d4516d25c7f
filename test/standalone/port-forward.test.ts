/** `kubectl port-forward` against the embedded API, over both of its protocols, and what it refuses. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { symlinkSync } from "node:fs";
import { request } from "node:https";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { credentialsOf } from "../../src/apiserver/testing.ts";
import { FairleadError } from "../../src/lib/index.ts";
import { createDialer } from "../../src/standalone/kubelet/dialer.ts";
import { ip } from "../../src/standalone/network/ip.ts";
import { lacks } from "../require.ts";
import { forward, type PodApi, startPodApi } from "./kubectl.ts";

let [pods, target]: [PodApi | undefined, Server | undefined] = [undefined, undefined];
const mesh = (): PodApi => {
  if (!pods) throw new Error("not started");
  return pods;
};

beforeAll(async () => {
  // Answers with all that it was sent, once its caller has said all.
  target = createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket)).listen(0, "127.0.0.1");
  await once(target, "listening");
  const at = target.address();
  pods = await startPodApi();
  await pods.host("web", ["app"], {
    connect: (port) =>
      new Promise((resolve, reject) => {
        if (port !== 8000 || typeof at !== "object" || !at)
          return reject(new FairleadError("unavailable", "failed to connect to localhost: connection refused"));
        const socket: Socket = connect({ port: at.port, host: "127.0.0.1", allowHalfOpen: true }, () =>
          resolve(socket),
        );
        socket.once("error", reject);
      }),
  });
});

afterAll(async () => {
  await pods?.close();
  target?.close();
});

function say(port: number, words: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    const heard: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => heard.push(chunk)).on("error", reject);
    socket.on("close", () => resolve(Buffer.concat(heard)));
    socket.end(words);
  });
}

const digest = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

describe.skipIf(lacks("kubectl"))("kubectl port-forward", () => {
  for (const [name, webSockets] of [
    ["WebSocket", "true"],
    ["SPDY", "false"],
  ] as const)
    test(`carries many connections and large bodies over ${name}`, async () => {
      const forwarding = await forward(mesh().api, ["web", ":8000"], { KUBECTL_PORT_FORWARD_WEBSOCKETS: webSockets });
      try {
        const large = Buffer.alloc(3_000_000, "0123456789abcdefg");
        expect(digest(await say(forwarding.port, large))).toBe(digest(large));
        const words = Array.from({ length: 100 }, (_, i) => Buffer.from(`${name} ${i}`));
        const answers = await Promise.all(words.map((word) => say(forwarding.port, word)));
        expect(answers.map(String)).toEqual(words.map(String));
      } finally {
        await forwarding.stop();
      }
    });

  test("says why a port of the Pod does not answer", async () => {
    const forwarding = await forward(mesh().api, ["web", ":8001"]);
    try {
      expect(await say(forwarding.port, Buffer.from("hello"))).toHaveLength(0);
      await expect.poll(forwarding.said).toContain("error forwarding port 8001");
      expect(forwarding.said()).toContain("connection refused");
    } finally {
      await forwarding.stop();
    }
  });

  test("a Pod that nobody runs, and one that is not there", async () => {
    const { api } = mesh();
    const spec = { nodeName: "localhost", containers: [{ name: "app", image: "none" }] };
    await api.call("POST", "/api/v1/namespaces/default/pods", { metadata: { name: "lonely" }, spec });
    expect((await upgrade("/api/v1/namespaces/default/pods/lonely/portforward")).text).toContain(
      "error dialing backend",
    );
    expect((await upgrade("/api/v1/namespaces/default/pods/none/portforward")).code).toBe(404);
  });
});

interface Refusal {
  readonly code: number;
  readonly text: string;
}

async function upgrade(
  path: string,
  user?: string,
  headers: Readonly<Record<string, string>> = {},
  method = "POST",
): Promise<Refusal> {
  const { api } = mesh();
  const as = user === undefined ? api.admin : await credentialsOf(api.server, { user });
  return await new Promise((resolve, reject) => {
    const asked = request(`${api.server.url}${path}`, {
      ...as,
      ...{ ca: api.server.ca, method, agent: false },
      headers: {
        ...{ connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": "portforward.k8s.io" },
        ...headers,
      },
    });
    asked.on("upgrade", (answer, socket) => {
      socket.destroy();
      resolve({ code: answer.statusCode ?? 0, text: "" });
    });
    asked.on("response", (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      answer.on("end", () => resolve({ code: answer.statusCode ?? 0, text }));
    });
    asked.on("error", reject);
    asked.end();
  });
}

describe("who may reach into a Pod", () => {
  const path = "/api/v1/namespaces/default/pods/web/portforward";
  const grant = async (user: string, namespace: string, verb: string, stream = "portforward"): Promise<void> => {
    const { api } = mesh();
    const rbac = "rbac.authorization.k8s.io";
    await api.call("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    const at = `/apis/${rbac}/v1/namespaces/${namespace}`;
    const rules = [{ apiGroups: [""], resources: [`pods/${stream}`], verbs: [verb] }];
    expect((await api.call("POST", `${at}/roles`, { metadata: { name: user }, rules })).code).toBe(201);
    const binding = {
      metadata: { name: user },
      roleRef: { apiGroup: rbac, kind: "Role", name: user },
      subjects: [{ apiGroup: rbac, kind: "User", name: user }],
    };
    expect((await api.call("POST", `${at}/rolebindings`, binding)).code).toBe(201);
  };

  test("the verb is that of the method, in the Pod's own namespace", async () => {
    await grant("creator", "default", "create");
    await grant("getter", "default", "get");
    await grant("neighbour", "elsewhere", "create");
    const codes = async (user: string): Promise<readonly number[]> => [
      (await upgrade(path, user)).code,
      (await upgrade(path, user, {}, "GET")).code,
    ];
    expect(await codes("creator")).toEqual([101, 403]);
    expect(await codes("getter")).toEqual([403, 101]);
    expect(await codes("neighbour")).toEqual([403, 403]);
    expect((await upgrade(path, "nobody")).text).toContain('cannot create resource \\"pods/portforward\\"');
  });

  test("a command needs what an administrator of the node has, too", async () => {
    const { api } = mesh();
    await grant("editor", "default", "*", "exec");
    const exec = "/api/v1/namespaces/default/pods/web/exec?container=app&command=true&stdout=true";
    const refused = await upgrade(exec, "editor", { "x-stream-protocol-version": "v4.channel.k8s.io" });
    expect(refused).toMatchObject({ code: 403, text: expect.stringContaining('\\"nodes/proxy\\"') });
    const rbac = "rbac.authorization.k8s.io";
    const rules = [{ apiGroups: [""], resources: ["nodes/proxy"], verbs: ["create"] }];
    await api.call("POST", `/apis/${rbac}/v1/clusterroles`, { metadata: { name: "on-node" }, rules });
    const subjects = [{ apiGroup: rbac, kind: "User", name: "editor" }];
    const roleRef = { apiGroup: rbac, kind: "ClusterRole", name: "on-node" };
    await api.call("POST", `/apis/${rbac}/v1/clusterrolebindings`, {
      metadata: { name: "on-node" },
      roleRef,
      subjects,
    });
    // Let through to the Pod's host, which runs nothing there.
    expect(await upgrade(exec, "editor", { "x-stream-protocol-version": "v4.channel.k8s.io" })).toMatchObject({
      code: 404,
      text: expect.stringContaining("container not found"),
    });
  });

  test("nothing that a user writes leads to another socket", async () => {
    const { api, podDir } = mesh();
    symlinkSync("/run/other.sock", join(podDir, "..", "other.sock"));
    const pod = (uid: string): object => ({
      metadata: { name: "liar", uid, annotations: { "fairlead.dev/runner-lease": "../other" } },
      spec: { nodeName: "localhost", containers: [{ name: "app", image: "none" }] },
    });
    const made = await api.call("POST", "/api/v1/namespaces/default/pods", pod("../other"));
    expect((made.body.metadata as { uid: string }).uid).toMatch(/^[0-9a-f-]{36}$/);
    for (const trick of ["liar", "..%2f..%2fother", "web%00", "%2e%2e"]) {
      const { code } = await upgrade(`/api/v1/namespaces/default/pods/${trick}/portforward`);
      expect([400, 404, 405, 500]).toContain(code);
    }
  });

  test("what cannot be spoken is refused with words", async () => {
    const other = await upgrade(path, undefined, { "x-stream-protocol-version": "v9.portforward.k8s.io" });
    expect(other).toMatchObject({ code: 403, text: expect.stringContaining("server accepts [portforward.k8s.io]") });
    expect((await upgrade(path, undefined, { upgrade: "h2c" })).code).toBe(400);
    expect((await upgrade("/api/v1/namespaces/default/pods/web", undefined, {}, "GET")).code).toBe(400);
    const { api } = mesh();
    expect(await api.call("GET", path)).toMatchObject({ code: 400, body: { message: "Upgrade request required" } });
  });
});

describe.skipIf(lacks("root"))("a Pod's own network", () => {
  const namespace = `flt${process.pid}-streams`;
  afterAll(() => ip("netns", "del", namespace));

  test("its loopback is reached from outside, and nothing else's", async () => {
    await ip("netns", "add", namespace);
    await ip("-n", namespace, "link", "set", "lo", "up");
    const dialer = createDialer(`/run/netns/${namespace}`);
    try {
      const outside = target?.address();
      await expect(dialer.connect(typeof outside === "object" && outside ? outside.port : 1)).rejects.toThrow(
        "connection refused",
      );
      const inside = await listenInside(namespace);
      const sockets = await Promise.all([1, 2, 3].map(() => dialer.connect(inside.port)));
      for (const socket of sockets) {
        const [said] = await once(socket, "data");
        expect(String(said)).toBe("first words");
        socket.destroy();
      }
      inside.stop();
    } finally {
      dialer.close();
    }
  });
});

/** A server that speaks first, as many do. */
async function listenInside(namespace: string): Promise<{ port: number; stop(): void }> {
  const { spawn } = await import("node:child_process");
  const script = `require("node:net").createServer((s) => s.write("first words")).listen(0, "127.0.0.1", function () { console.log(this.address().port); })`;
  const child = spawn("ip", ["netns", "exec", namespace, process.execPath, "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  return { port: Number(String(line)), stop: () => child.kill("SIGKILL") };
}
