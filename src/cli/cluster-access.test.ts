import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type AccessFlags, clusterAccess, installAccess } from "./cluster-access.ts";
import { defaultDataDir } from "./up/data-dir.ts";

describe("which API a command talks to", () => {
  let home = "";
  let told = "";
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "fairlead-access-"));
    told = "";
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const env = (more: Readonly<Record<string, string>> = {}) => ({
    HOME: home,
    XDG_DATA_HOME: join(home, "data"),
    ...more,
  });
  const io = (more?: Readonly<Record<string, string>>) => ({
    env: env(more),
    cwd: home,
    out: () => {},
    err: (text: string) => {
      told += text;
    },
    tty: false,
    signal: new AbortController().signal,
  });
  const write = (path: string, name: string): string => {
    mkdirSync(join(path, ".."), { recursive: true });
    const entries = { clusters: [{ name, cluster: { server: `https://${name}` } }], users: [{ name, user: {} }] };
    const contexts = [{ name, context: { cluster: name, user: name } }];
    writeFileSync(
      path,
      JSON.stringify({ apiVersion: "v1", kind: "Config", ...entries, contexts, "current-context": name }),
    );
    return path;
  };
  const standalone = () => write(join(defaultDataDir(env()), "kubeconfig"), "standalone");
  const cluster = () => write(join(home, ".kube/config"), "cluster");
  const installs = async (
    flags: AccessFlags & { standalone?: boolean } = {},
    more?: Readonly<Record<string, string>>,
  ) => (await installAccess(flags, io(more))).server;

  test("small commands mean the standalone mesh, where there is one", async () => {
    cluster();
    expect((await clusterAccess({}, io())).server).toBe("https://cluster");
    standalone();
    expect((await clusterAccess({}, io())).server).toBe("https://standalone");
    expect((await clusterAccess({ context: "cluster" }, io())).server).toBe("https://cluster");
  });

  test("an installation means a cluster, and says which", async () => {
    standalone();
    const file = cluster();
    expect(await installs()).toBe("https://cluster");
    expect(told).toBe(`at https://cluster (${file})\n`);
  });

  test("an installation goes to the standalone mesh only where that is named", async () => {
    const file = standalone();
    await expect(installs()).rejects.toThrow(
      "there is a standalone mesh here, which has its control plane, and no cluster",
    );
    expect(await installs({ standalone: true })).toBe("https://standalone");
    expect(await installs({}, { KUBECONFIG: file })).toBe("https://standalone");
    expect(await installs({ kubeconfig: file })).toBe("https://standalone");
    expect(await installs({ context: "standalone" })).toBe("https://standalone");
  });

  test("where there is nothing it says so", async () => {
    await expect(installs()).rejects.toThrow("no Kubernetes cluster to talk to");
    await expect(installs({ standalone: true })).rejects.toThrow("there is no standalone mesh");
    await expect(clusterAccess({}, io())).rejects.toThrow("no Kubernetes API to talk to");
  });
});
