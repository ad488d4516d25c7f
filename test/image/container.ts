/**
 * A root filesystem and one container of a Pod in; a process out that sees no other files, with that user, those
 * capabilities and mounts, as a container runtime would start it. Needs root.
 */
import { execFile, spawnSync } from "node:child_process";
import {
  chownSync,
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { wait } from "../../src/lib/index.ts";
import { type Journal, startProcess } from "../../src/standalone/index.ts";

export interface ContainerSpec {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly user: number;
  readonly readOnly: boolean;
  /** All others are dropped. */
  readonly capabilities: readonly string[];
  /** Folders and files of this machine, by where the container sees them. */
  readonly mounts: ReadonlyMap<string, string>;
}

export interface Container {
  /** Everything that it has written. */
  output(): string;
  readonly exited: Promise<number | string>;
  /** A further process inside, as `kubectl exec` and hooks start them. */
  exec(
    command: readonly string[],
  ): Promise<{ readonly status: number; readonly stdout: string; readonly stderr: string }>;
  /** SIGTERM; resolves with its status. */
  stop(): Promise<number | string>;
}

export interface Host {
  readonly root: string;
  readonly journal: Journal;
  /** Path of the network namespace; this machine's own without one. */
  readonly network?: string;
}

/**
 * The text is fixed; what varies comes as arguments. What the container may write goes to memory. `setpriv` is lent to
 * it, because nothing inside could drop capabilities after the change of root.
 */
const script = `
set -e
work=$1 root=$2 mode=$3; shift 3
mount --make-rprivate /
work=$work/mount
mkdir "$work"
mount -t tmpfs none "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay none -o "lowerdir=$root,upperdir=$work/upper,workdir=$work/work" "$work/root"
cd "$work/root"
mkdir .lent
cp "$(command -v setpriv)" .lent/
for library in $(ldd "$(command -v setpriv)" | grep -o '/[^ ]*'); do cp -L "$library" .lent/; done
mount -t proc none proc
mount -t tmpfs none dev
for device in null zero random urandom; do touch dev/$device; mount --bind /dev/$device dev/$device; done
ln -s /proc/self/fd dev/fd; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir -p ".$2"; else mkdir -p ".\${2%/*}"; touch ".$2"; fi
  mount --bind "$1" ".$2"
  shift 2
done
shift
# The mount alone: an overlay itself cannot be made another one, and newer versions of mount ask for that.
mount -o "remount,bind,$mode" .
exec chroot . "$@"
`;

const loader = process.arch === "arm64" ? "/lib/ld-linux-aarch64.so.1" : "/lib64/ld-linux-x86-64.so.2";
const run = promisify(execFile);

export function startContainer({ root, journal, network }: Host, spec: ContainerSpec): Container {
  const work = mkdtempSync(join(tmpdir(), "fairlead-container-"));
  const bounding = ["-all", ...spec.capabilities.map((name) => `+${name.toLowerCase()}`)].join(",");
  const become = [`--reuid=${spec.user}`, `--regid=${spec.user}`, "--clear-groups", "--no-new-privs"];
  const pipe = openPipe(join(work, "output"), spec.user);
  const running = startProcess({
    file: network === undefined ? "unshare" : "nsenter",
    args: [
      ...(network === undefined ? [] : [`--net=${network}`, "--", "unshare"]),
      ...["--mount", "--pid", "--fork", "--kill-child", "--", "sh", "-c", script, "sh", work, root],
      spec.readOnly ? "ro" : "rw",
      ...[...spec.mounts].flatMap(([path, from]) => [from, path]),
      ...["--", loader, "--library-path", "/.lent", "/.lent/setpriv", ...become, `--bounding-set=${bounding}`, "--"],
      ...spec.command,
    ],
    env: { PATH: "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", ...spec.env },
    output: pipe.writer,
    journal,
  });
  closeSync(pipe.writer);
  const exited = running.exited.finally(() => {
    pipe.close();
    rmSync(work, { recursive: true, force: true });
  });
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  const first = (): Promise<string> => firstProcess(running.pid, work, () => ended);
  return {
    output: pipe.text,
    exited,
    async exec(command) {
      const enter = ["--target", await first(), "--mount", "--pid", "--net", "--root", "--wd"];
      const as = [`--setuid=${spec.user}`, `--setgid=${spec.user}`];
      return run("nsenter", [...enter, ...as, "--", ...command], { env: { ...spec.env } }).then(
        ({ stdout, stderr }) => ({ status: 0, stdout, stderr }),
        (error) => ({ status: Number(error.code ?? 1), stdout: String(error.stdout), stderr: String(error.stderr) }),
      );
    },
    async stop() {
      if (!ended) process.kill(Number(await first()), "SIGTERM");
      return exited;
    },
  };
}

/** A pipe that belongs to the container's user, as runtimes hand it out: Envoy opens /dev/stdout by its name. */
function openPipe(path: string, user: number): { readonly writer: number; text(): string; close(): void } {
  spawnSync("mkfifo", ["-m", "600", path]);
  chownSync(path, user, user);
  const reader = new Socket({ fd: openSync(path, constants.O_RDWR | constants.O_NONBLOCK), writable: false });
  let text = "";
  reader.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  // What was written last is still in the pipe when the process has gone.
  const close = (): void => void setTimeout(() => reader.destroy(), 100);
  return { writer: openSync(path, constants.O_WRONLY), text: () => text, close };
}

/** The fork, once it has changed its root and become the program itself. */
async function firstProcess(parent: number, work: string, ended: () => boolean): Promise<string> {
  while (!ended()) {
    try {
      const child = readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8").trim();
      // Told from the root of the machine, also where the tests run in a chroot.
      const inside = readlinkSync(`/proc/${child}/root`).endsWith(join(work, "mount/root"));
      if (inside && !readFileSync(`/proc/${child}/cmdline`, "utf8").includes("setpriv")) return child;
    } catch {
      // It is being made, or it has just ended.
    }
    await wait(20);
  }
  throw new Error("the container has ended");
}

/** A folder for a Pod's volumes, gone with the test. */
export function volumeFolder(): { readonly folder: string; volume(name: string): string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-volumes-"));
  return {
    folder,
    volume(name) {
      const path = join(folder, name);
      mkdirSync(path, { recursive: true });
      spawnSync("chmod", ["0777", path]);
      return path;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
