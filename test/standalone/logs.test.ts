/** `kubectl logs` against the embedded API, of a container that writes, ends and begins again. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, closeSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ContainerLog, createContainerLog } from "../../src/standalone/index.ts";
import { lacks } from "../require.ts";
import { type PodApi, startPodApi } from "./kubectl.ts";

let [pods, log]: [PodApi | undefined, ContainerLog | undefined] = [undefined, undefined];
const mesh = (): PodApi => {
  if (!pods) throw new Error("not started");
  return pods;
};
const own = (): ContainerLog => {
  if (!log) throw new Error("not started");
  return log;
};
const logs = (args: string) => mesh().api.kubectl(`logs web ${args}`);

/** Resolves when it has been seen. */
async function write(text: string): Promise<void> {
  const before = own().end();
  const seen = new Promise<void>((resolve) => {
    const unwatch = own().watch(() => {
      unwatch();
      resolve();
    });
  });
  appendFileSync(own().path, text);
  expect(own().end()).toBe(before + Buffer.byteLength(text));
  await seen;
}

beforeAll(async () => {
  pods = await startPodApi();
  log = createContainerLog(join(pods.api.dir, "web.log"), undefined);
  appendFileSync(log.path, "of another Pod, long ago\n");
  await pods.host("web", ["app", "late", "quiet"], {
    log: (name) => (name === "app" ? log : name === "quiet" ? "none" : undefined),
  });
  closeSync(log.open());
});

afterAll(async () => {
  log?.ended();
  await pods?.close();
});

describe.skipIf(lacks("kubectl"))("kubectl logs", () => {
  test("shows the present life, its end, and the times of its lines", async () => {
    await write("one\ntwo\n");
    const middle = new Date(Date.now() + 1);
    await expect.poll(() => Date.now()).toBeGreaterThan(middle.getTime());
    await write("three\nfo");
    await write("ur\n");
    expect(await logs("-c app")).toMatchObject({ code: 0, out: "one\ntwo\nthree\nfour\n" });
    expect((await logs("-c app --tail=2")).out).toBe("three\nfour\n");
    expect((await logs("-c app --tail=0")).out).toBe("");
    expect((await logs("-c app --tail=99")).out).toBe("one\ntwo\nthree\nfour\n");
    // kubectl itself asks for whole seconds.
    const raw = `/api/v1/namespaces/default/pods/web/log?container=app&sinceTime=${middle.toISOString()}`;
    expect((await mesh().api.kubectl(`get --raw ${raw}`)).out).toBe("three\nfour\n");
    expect((await logs("-c app --since=1h --limit-bytes=5")).out).toBe("one\nt");
    const stamped = (await logs("-c app --timestamps")).out.trimEnd().split("\n");
    expect(stamped).toHaveLength(4);
    for (const line of stamped) expect(line).toMatch(/^20\d\d-\d\d-\d\dT[\d:]{8}\.\d{9}Z \w+$/);
  });

  test("follows until the process has ended, and keeps what it wrote", async () => {
    const { api } = mesh();
    const child = spawn("kubectl", ["logs", "-f", "web", "-c", "app", "--tail=1"], {
      env: { PATH: process.env.PATH, HOME: api.dir, KUBECONFIG: api.kubeconfig },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk;
    });
    const ended = once(child, "close");
    await expect.poll(() => text).toBe("four\n");
    await write("five\n");
    await expect.poll(() => text).toBe("four\nfive\n");
    appendFileSync(own().path, "last\n");
    own().ended();
    expect(await ended).toEqual([0, null]);
    expect(text).toBe("four\nfive\nlast\n");
    closeSync(own().open());
    await write("again\n");
    expect((await logs("-c app")).out).toBe("again\n");
    expect((await logs("-c app --previous --tail=1")).out).toBe("last\n");
  });

  test("what was moved aside is read with the rest", async () => {
    const large = `${"0123456789abcde\n".repeat(700_000)}`;
    await write(large);
    own().trim();
    await write("after\n");
    const { out } = await logs("-c app --tail=3");
    expect(out).toBe("0123456789abcde\n0123456789abcde\nafter\n");
    expect((await logs("-c app --tail=700001 --limit-bytes=20")).out).toBe("0123456789abcde\n0123");
  });

  test("says in Kubernetes' words what is wrong", async () => {
    expect((await logs("-c late")).err).toContain('container "late" in pod "web" is waiting to start');
    expect((await logs("-c none")).err).toContain("container none is not valid for pod web");
    expect((await logs("-c app --tail=-5")).code).toBe(1);
    expect(await logs("-c quiet")).toMatchObject({ code: 0, out: "" });
    const { api } = mesh();
    const path = "/api/v1/namespaces/default/pods/web/log";
    const message = async (query: string): Promise<unknown> => {
      const { code, body } = await api.call("GET", `${path}?${query}`);
      return [code, body.message];
    };
    expect(await message("")).toEqual([
      400,
      "a container name must be specified for pod web, choose one of: [app late quiet]",
    ]);
    expect(await message("container=app&sinceSeconds=0")).toEqual([
      422,
      'PodLogOptions "web" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0',
    ]);
    expect((await api.call("GET", `${path}?container=app&sinceTime=yesterday`)).code).toBe(400);
    expect((await api.call("GET", `${path}?container=late&previous=true`)).body.message).toBe(
      'previous terminated container "late" in pod "web" not found',
    );
    expect((await api.call("POST", path)).code).toBe(405);
  });
});
