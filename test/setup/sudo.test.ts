/** Root once, the user later: what a run under sudo leaves belongs to the user who called it. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { giveToOwner, userHome } from "../../scripts/user-home.mjs";
import { giveDataToUser } from "../../src/cli/up/data-owner.ts";
import { anyPort, root, startFairlead } from "../e2e/fairlead.ts";
import { lacks } from "../require.ts";

const user = 65534;
const sudo = { SUDO_UID: String(user), SUDO_GID: String(user) };
const asUser = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
const work = mkdtempSync(join(tmpdir(), "fairlead sudo "));
chmodSync(work, 0o777);
afterAll(() => rmSync(work, { recursive: true, force: true }));

const ownersOf = (dir: string): ReadonlySet<number> =>
  new Set(
    [dir, ...readdirSync(dir, { recursive: true, encoding: "utf8" }).map((name) => join(dir, name))].map(
      (path) => statSync(path).uid,
    ),
  );

describe.skipIf(lacks("root"))("under sudo", () => {
  const data = join(work, "new/mesh");

  test("the data folder is the user's, and the kubeconfig that is printed can be read", {
    timeout: 300_000,
  }, async () => {
    // Beside the meshes of other tests.
    const ranges = ["--pod-cidr", "10.232.0.0/16", "--service-cidr", "10.233.0.0/16"];
    const mesh = startFairlead(["up", "--data", data, ...ranges, ...anyPort], sudo);
    await mesh.until("ready");
    const kubeconfig = join(data, "kubeconfig");
    expect(statSync(kubeconfig)).toMatchObject({ uid: user, gid: user });
    mesh.child.kill("SIGINT");
    expect(await mesh.exited).toBe(0);
    expect(mesh.stderr()).toContain(`export KUBECONFIG='${kubeconfig}'\n`);
    expect([...ownersOf(join(work, "new"))]).toEqual([user]);
  });

  test("later the user starts the same mesh alone", { timeout: 300_000 }, async () => {
    // The checkout may be in a home that only its owner can enter.
    const place = join(work, "fairlead");
    mkdirSync(place);
    const bound = [
      "unshare",
      "--mount",
      "sh",
      "-c",
      'mount --bind "$1" "$2" && shift 2 && exec "$@"',
      "sh",
      root,
      place,
    ];
    const mesh = startFairlead(["up", "--data", data, ...anyPort], {}, [...bound, "setpriv", ...asUser], place);
    await mesh.until("ready");
    mesh.child.kill("SIGINT");
    expect(await mesh.exited).toBe(0);
  });

  test("a folder that is root's own stays so", () => {
    const own = join(work, "root");
    mkdirSync(own);
    giveDataToUser(own, sudo);
    expect([...ownersOf(own)]).toEqual([0]);
  });

  test("home is the user's", () => {
    const [name, , uid = "", gid = "", , home] = spawnSync("getent", ["passwd", "1"], {
      encoding: "utf8",
    }).stdout.split(":");
    expect(name).toBe("daemon");
    expect(userHome({ HOME: "/root", SUDO_UID: uid, SUDO_GID: gid })).toBe(home);
    expect(userHome({ HOME: "/root" })).toBe("/root");
  });

  test("what set-up makes in a checkout is the checkout's owner's", () => {
    const checkout = join(work, "checkout");
    mkdirSync(join(checkout, "dist"), { recursive: true });
    writeFileSync(join(checkout, "dist/main.js"), "");
    spawnSync("chown", [String(user), checkout]);
    giveToOwner(checkout, ["dist", "missing"]);
    expect([...ownersOf(checkout)]).toEqual([user]);
  });
});
