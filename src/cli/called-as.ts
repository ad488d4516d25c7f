/**
 * The name that the program was called by and its arguments in; the arguments of `fairlead` out. In the image the names
 * that injected Pods and Istio's charts call lead to the same program.
 */
import { basename } from "node:path";

/** Words of pilot-agent that are no words of `fairlead`, and those that mean something else there. */
const ofAgent: ReadonlyMap<string, readonly string[]> = new Map([
  ["proxy", ["agent", "proxy"]],
  ["istio-iptables", ["iptables"]],
  ["istio-clean-iptables", ["iptables", "--cleanup-only"]],
]);
const onlyAsAgent: ReadonlyMap<string, readonly string[]> = new Map([
  ["wait", ["agent", "wait"]],
  ["request", ["agent", "request"]],
]);

export function argumentsAs(program: string, args: readonly string[]): readonly string[] {
  const name = basename(program);
  // istio-iptables was a program of its own once.
  const [word = "", ...rest] = name.startsWith("istio-") ? [name, ...args] : args;
  const meant = ofAgent.get(word) ?? (name === "pilot-agent" ? onlyAsAgent.get(word) : undefined);
  return meant ? [...meant, ...rest] : args;
}
