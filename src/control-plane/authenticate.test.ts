import { createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createKubeClient } from "../kube/index.ts";
import type { KubeObject } from "../model/index.ts";
import { createTokenJudge } from "./authenticate.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0).reverse()) close();
});

test("an API that never answers is waited for only as long as the caller says", async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => sockets.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    silent.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = silent.address() as { port: number };
  const client = createKubeClient({
    server: `https://127.0.0.1:${port}`,
    serverName: undefined,
    ca: undefined,
    insecure: true,
    namespace: "default",
    credentials: async () => ({}),
  });
  closing.push(() => client.close());
  const judge = createTokenJudge({
    client,
    pods: createGraph().source<KubeObject>("pods"),
    audiences: ["istio-ca"],
    trustDomain: () => "cluster.local",
  });
  await expect(judge.identify("a.b.c", AbortSignal.timeout(50))).rejects.toMatchObject({ name: "TimeoutError" });
});
