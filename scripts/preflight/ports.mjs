// The arguments of `fairlead up` in; whether each address that it will listen on is free out.
import { error, ok } from "./finding.mjs";

/** @typedef {import("./finding.mjs").Finding} Finding */

/** As in `fairlead up --help`; a test compares. */
export const defaultAddresses = new Map([
  ["--api-addr", "127.0.0.1:7443"],
  ["--gateway-addr", "127.0.0.1:8081"],
  ["--grpcAddr", "127.0.0.1:15010"],
  ["--secureGRPCAddr", "127.0.0.1:15012"],
  ["--monitoringAddr", "127.0.0.1:15014"],
  ["--httpsAddr", "127.0.0.1:15017"],
  ["--httpAddr", "127.0.0.1:8080"],
  ["--dashboard-addr", "127.0.0.1:15015"],
]);

/** Where these are taken, another port of the same address is used. */
const yielding = new Set(["--dashboard-addr"]);

/**
 * The value of a flag, written with a space or with `=`; the last one counts.
 * @param {readonly string[]} args
 * @param {string} flag
 * @returns {string | undefined}
 */
export function flagValue(args, flag) {
  const values = args.flatMap((arg, i) => {
    if (arg === flag) return [args[i + 1] ?? ""];
    return arg.startsWith(`${flag}=`) ? [arg.slice(flag.length + 1)] : [];
  });
  return values.at(-1);
}

/**
 * @param {import("./machine.mjs").Machine} machine
 * @param {readonly string[]} args
 * @returns {Promise<readonly Finding[]>}
 */
export async function portChecks(machine, args) {
  const checks = [...defaultAddresses].map(async ([flag, fallback]) => {
    const address = flagValue(args, flag) ?? fallback;
    const [, host = "", port = ""] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
    // Port 0 is any free one; what is no address is told by the command itself, better.
    if (port === "" || port === "0") return [];
    const fault = await machine.portFault(host || "127.0.0.1", Number(port));
    if (fault === undefined) return [ok("ports", `${address} is free`)];
    if (yielding.has(flag)) return [];
    return [
      error("ports", `${address} is free`, fault, `stop that process, or choose another address: ${flag} 127.0.0.1:0`),
    ];
  });
  return (await Promise.all(checks)).flat();
}
