/** A built checkout and this machine's own programs in; the layers of the image out, those that change least first. */
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { getCACertificates } from "node:tls";
import { readBundle } from "./bundle.ts";
import { complete, type Entry, file, folder, type Layer, link, program, text } from "./entry.ts";
import { librariesOf } from "./libraries.ts";

export interface Sources {
  readonly root: string;
  readonly node: string;
  readonly envoy: string;
}

/** The user of proxies, whose own traffic is not captured; the control plane runs as the same. */
export const user = 1337;

export function imageLayers({ root, node, envoy }: Sources): readonly Layer[] {
  return [
    { name: "system", entries: complete([...system, ...capture(), ...librariesOf([node, envoy, ...captureTools()])]) },
    { name: "node", entries: complete([program("/usr/local/bin/node", node)]) },
    { name: "envoy", entries: complete([program("/usr/local/bin/envoy", envoy)]) },
    { name: "fairlead", entries: complete([...bundle(root), ...names]) },
  ];
}

const system: readonly Entry[] = [
  link("/bin", "usr/bin"),
  link("/lib", "usr/lib"),
  link("/lib64", "usr/lib64"),
  link("/sbin", "usr/sbin"),
  folder("/usr/bin"),
  folder("/dev"),
  folder("/proc"),
  folder("/sys"),
  folder("/tmp", 0o1777),
  // Where Pods mount what the agent writes to.
  folder("/etc/istio/proxy", 0o755, user),
  folder("/var/lib/istio/data", 0o755, user),
  folder("/home/istio-proxy", 0o755, user),
  text("/etc/passwd", `root:x:0:0:root:/:/nologin\nistio-proxy:x:${user}:${user}::/home/istio-proxy:/nologin\n`),
  text("/etc/group", `root:x:0:\nistio-proxy:x:${user}:\n`),
  // A runtime puts its own in its place.
  text("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
  text("/etc/nsswitch.conf", "hosts: files dns\n"),
  // Mozilla's, as the pinned Node brings them: a machine's own list may have roots of its owner's in it.
  text("/etc/ssl/certs/ca-certificates.crt", `${getCACertificates("bundled").join("\n")}\n`),
];

const places = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

function tool(name: string): string {
  const found = places.map((place) => join(place, name)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${name} is not on this machine; install iptables, nftables and iproute2`);
  return realpathSync(found);
}

/** Both flavours of iptables: which one a node has is known there. */
const flavours = ["nft", "legacy"] as const;
const captureTools = (): readonly string[] => [
  ...flavours.map((flavour) => tool(`xtables-${flavour}-multi`)),
  tool("nft"),
  tool("ip"),
];

function capture(): readonly Entry[] {
  const plugins = pluginFolder();
  const commands = ["iptables", "ip6tables"].flatMap((name) => ["", "-save", "-restore"].map((end) => [name, end]));
  return [
    ...flavours.map((flavour) => program(`/usr/sbin/xtables-${flavour}-multi`, tool(`xtables-${flavour}-multi`))),
    ...commands.flatMap(([name, end]) => [
      link(`/usr/sbin/${name}${end}`, "xtables-nft-multi"),
      ...flavours.map((flavour) => link(`/usr/sbin/${name}-${flavour}${end}`, `xtables-${flavour}-multi`)),
    ]),
    program("/usr/sbin/nft", tool("nft")),
    program("/usr/sbin/ip", tool("ip")),
    ...readdirSync(plugins)
      .filter((name) => name.endsWith(".so"))
      .map((name) => program(join(plugins, name), realpathSync(join(plugins, name)))),
  ];
}

function pluginFolder(): string {
  const roots = readdirSync("/usr/lib").map((name) => `/usr/lib/${name}/xtables`);
  const found = ["/usr/lib/xtables", "/usr/lib64/xtables", ...roots].find((path) => existsSync(path));
  if (found === undefined) throw new Error("iptables' extensions are not where they are looked for");
  return found;
}

/** Where the program lies inside. */
export const home = "/opt/fairlead";

/** The demo, and what only builds, stays outside. */
function bundle(root: string): readonly Entry[] {
  const names = ["THIRD-PARTY.txt", ...readBundle(root).files.filter((name) => !name.startsWith("demo/"))];
  return [
    ...names.map((name) => file(`${home}/dist/${name}`, join(root, "dist", name))),
    text(`${home}/package.json`, `${JSON.stringify({ type: "module" })}\n`),
    file(`${home}/LICENSE`, join(root, "LICENSE")),
  ];
}

/**
 * Node itself runs the program, by the first line, so that no shell is needed. What can be said of V8 only from inside is
 * said here; the rest is in the image's environment.
 */
const launcher = `#!/usr/local/bin/node
require("node:v8").setFlagsFromString("--heap-growing-percent=30");
import("${home}/dist/main.js");
`;

const called = ["pilot-agent", "pilot-discovery", "istio-iptables"];

const names: readonly Entry[] = [
  text("/usr/local/bin/fairlead", launcher, 0o755),
  ...called.map((name) => link(`/usr/local/bin/${name}`, "fairlead")),
];

/** As `./fairlead` runs what runs long; and no setting of a user's shell gets in between. */
export const environment: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/usr/sbin:/usr/bin",
  HOME: "/home/istio-proxy",
  MALLOC_ARENA_MAX: "1",
  MALLOC_TRIM_THRESHOLD_: "65536",
  NODE_OPTIONS: "--disable-proto=delete --unhandled-rejections=strict --enable-source-maps --max-semi-space-size=8",
};
