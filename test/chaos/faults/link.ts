/** The link between a Pod and the others: cut, slow, lossy; and the way to the control plane. */
import { execFileSync } from "node:child_process";
import type { ChaosPod } from "../mesh.ts";
import { type Fault, must } from "./fault.ts";

const run = (file: string, ...args: readonly string[]): string =>
  execFileSync(file, [...args], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const inPod = (pod: ChaosPod, ...command: readonly string[]): string =>
  run("ip", "netns", "exec", pod.namespace, ...command);

/** Takes back what was done; answers how many packets it was done to. */
type Mend = () => number;

/** Of the first rule that has these words. */
function packetsOf(rules: string, ...words: readonly string[]): number {
  const line = rules.split("\n").find((rule) => words.every((word) => rule.includes(word)));
  return Number(/^\[(\d+):/.exec(line ?? "")?.[1] ?? 0);
}

const filter = (pod: ChaosPod, action: "-I" | "-D", ...rule: readonly string[]): string =>
  inPod(pod, "iptables", "-w", action, ...rule);

/** Nothing gets through, and nobody is told. */
function cut(pod: ChaosPod): Mend {
  const rules = [
    ["INPUT", "-i", "eth0", "-j", "DROP"],
    ["OUTPUT", "-o", "eth0", "-j", "DROP"],
  ];
  for (const rule of rules) filter(pod, "-I", ...rule);
  return () => {
    const dropped = packetsOf(inPod(pod, "iptables-save", "-c"), "-A INPUT -i eth0 -j DROP");
    for (const rule of rules) filter(pod, "-D", ...rule);
    return dropped;
  };
}

function shape(pod: ChaosPod, netem: readonly string[], instead: () => Mend): Mend {
  try {
    inPod(pod, "tc", "qdisc", "add", "dev", "eth0", "root", "netem", ...netem);
    return () => unshape(pod);
  } catch {
    return instead();
  }
}

function unshape(pod: ChaosPod): number {
  const shown = inPod(pod, "tc", "-s", "qdisc", "show", "dev", "eth0", "root");
  inPod(pod, "tc", "qdisc", "del", "dev", "eth0", "root");
  return Number(/Sent \d+ bytes (\d+) pkt/.exec(shown)?.[1] ?? 0);
}

/** Without netem a link can still be narrow. */
function narrow(pod: ChaosPod): Mend {
  const limit = ["rate", "512kbit", "burst", "3000", "latency", "400ms"];
  inPod(pod, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", ...limit);
  return () => unshape(pod);
}

/** Without netem the Pod's own filter throws packets away. */
function lose(pod: ChaosPod, share: string): Mend {
  const rule = ["INPUT", "-i", "eth0", "-m", "statistic", "--mode", "random", "--probability", share, "-j", "DROP"];
  filter(pod, "-I", ...rule);
  return () => {
    const lost = packetsOf(inPod(pod, "iptables-save", "-c"), "-A INPUT -i eth0", "--probability", "-j DROP");
    filter(pod, "-D", ...rule);
    return lost;
  };
}

const link = (
  name: string,
  what: string,
  seconds: number,
  expected: string,
  spoil: (pod: ChaosPod) => Mend,
): Fault => ({
  ...{ name, what: `${what} of one server, for ${seconds} s`, expected },
  ...{ holdMs: seconds * 1000, touches: ["server"] },
  async inject(stage) {
    const mend = spoil(stage.server());
    return { end: () => must(mend() > 0, "no packet was affected") };
  },
});

export const links: readonly Fault[] = [
  link("cut-link", "the link is cut", 3, "requests wait, and are answered", cut),
  link("slow-link", "50 ms more (without netem: 512 kbit/s) on the link", 8, "requests are slow", (pod) =>
    shape(pod, ["delay", "50ms", "10ms"], () => narrow(pod)),
  ),
  link("lossy-link", "5 of 100 packets are lost on the link", 8, "requests are slow", (pod) =>
    shape(pod, ["loss", "5%"], () => lose(pod, "0.05")),
  ),
  {
    name: "control-plane-away",
    what: "nothing gets through to the control plane, for 8 s",
    expected: "proxies go on with what they have",
    ...{ holdMs: 8_000, touches: ["control-plane"] },
    async inject({ mesh }) {
      const rule = ["INPUT", "-d", mesh.plan.hostAddress, "-p", "tcp", "--dport", "15012", "-j", "DROP"];
      run("iptables", "-w", "-I", ...rule);
      return {
        end() {
          const dropped = packetsOf(
            run("iptables-save", "-c"),
            `-d ${mesh.plan.hostAddress}/32`,
            "--dport 15012 -j DROP",
          );
          run("iptables", "-w", "-D", ...rule);
          must(dropped > 0, "no packet was affected");
        },
      };
    },
  },
];
