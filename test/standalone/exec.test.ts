/** `kubectl exec`, `cp` and `attach` against the embedded API, over both of their protocols. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, closeSync, existsSync, readFileSync, writeFileSync } from "node:fs";
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
const webSockets = (text: string) => ({ KUBECTL_REMOTE_COMMAND_WEBSOCKETS: text });

beforeAll(async () => {
  pods = await startPodApi();
  log = createContainerLog(join(pods.api.dir, "web.log"), undefined);
  closeSync(log.open());
  await pods.host("web", ["app", "late"], {
    log: (name) => (name === "app" ? log : undefined),
    spawner: (name) =>
      name === "app" ? ([file = "", ...args]) => spawn(file, args, { detached: true, stdio: "pipe" }) : undefined,
  });
});

afterAll(async () => {
  log?.ended();
  await pods?.close();
});

function startKubectl(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const { api } = mesh();
  return spawn("kubectl", args, {
    env: { PATH: process.env.PATH, HOME: api.dir, KUBECONFIG: api.kubeconfig, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

const isAlive = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.startsWith("Z") !== true;
  } catch {
    return false;
  }
};

describe.skipIf(lacks("kubectl"))("kubectl exec", () => {
  for (const [name, env] of [
    ["WebSocket", webSockets("true")],
    ["SPDY", webSockets("false")],
  ] as const) {
    test(`has the command's output, errors and exit code over ${name}`, async () => {
      const { api } = mesh();
      const failing = await api.kubectl("exec web -c app -- sh -c 'echo out; echo words >&2; exit 3'", "", env);
      expect(failing).toMatchObject({ code: 3, out: "out\n" });
      expect(failing.err).toContain("words\n");
      expect(await api.kubectl("exec web -c app -- true", "", env)).toMatchObject({ code: 0, out: "", err: "" });
      const zeros = await api.kubectl("exec web -c app -- head -c 700000 /dev/zero", "", env);
      expect(zeros.out).toHaveLength(700_000);
    });

    test(`feeds the command and ends its input over ${name}`, async () => {
      const { api } = mesh();
      const counted = await api.kubectl("exec -i web -c app -- wc -c", "x".repeat(2_000_000), env);
      expect(counted).toMatchObject({ code: 0, out: expect.stringMatching(/^\s*2000000\n$/) });
    });

    test(`ends the command with its client over ${name}`, async () => {
      const child = startKubectl(["exec", "web", "-c", "app", "--", "sh", "-c", "echo $$; exec sleep 1000"], env);
      const [said] = await once(child.stdout ?? child, "data");
      const pid = Number(String(said));
      expect(isAlive(pid)).toBe(true);
      child.kill("SIGKILL");
      await expect.poll(() => isAlive(pid)).toBe(false);
    });
  }

  test("copies files both ways", async () => {
    const { api } = mesh();
    const [here, there, back] = ["here", "there", "back"].map((name) => join(api.dir, name));
    writeFileSync(here ?? "", "some words\n".repeat(10_000));
    expect(await api.kubectl(`cp ${here} web:${there} -c app`)).toMatchObject({ code: 0 });
    expect(await api.kubectl(`cp web:${there} ${back} -c app`)).toMatchObject({ code: 0 });
    expect(readFileSync(back ?? "", "utf8")).toBe(readFileSync(here ?? "", "utf8"));
  });

  test.skipIf(!existsSync("/usr/bin/script"))("gives a terminal of the client's size", async () => {
    const { api } = mesh();
    const command =
      "stty rows 33 cols 77; exec kubectl exec -it web -c app -- sh -c 'until stty size | grep 33; do :; done; tty'";
    const child = spawn("script", ["-qec", command, "/dev/null"], {
      env: { PATH: process.env.PATH, HOME: api.dir, KUBECONFIG: api.kubeconfig, TERM: "dumb" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk;
    });
    await once(child, "close");
    expect(text).toContain("33 77");
    expect(text).toMatch(/\/dev\/pts\/\d+/);
  });

  test("says what is wrong", async () => {
    const { api } = mesh();
    expect((await api.kubectl("exec web -c late -- true")).err).toContain("container not found");
    expect((await api.kubectl("exec web -c none -- true")).err).toContain("container none is not valid for pod web");
    expect((await api.kubectl("exec web -c app -- no-such-command")).code).not.toBe(0);
    const path = "/api/v1/namespaces/default/pods/web/exec";
    expect((await api.call("GET", `${path}?container=app&command=true&stdout=true`)).body.message).toBe(
      "Upgrade request required",
    );
  });

  test("attach shows what the process writes from then on, until it ends", async () => {
    const child = startKubectl(["attach", "web", "-c", "app"]);
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk;
    });
    const ended = once(child, "close");
    // Nothing tells when it listens, but what it then hears.
    const writing = setInterval(() => appendFileSync(log?.path ?? "", "tick\n"), 50);
    await expect.poll(() => text).toContain("tick\n");
    clearInterval(writing);
    log?.ended();
    expect(await ended).toEqual([0, null]);
  });
});
