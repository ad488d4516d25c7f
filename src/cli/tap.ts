/** `fairlead tap`: single requests as they are made, of workloads, services or namespaces, for up to a minute. */
import { type Command, Option } from "commander";
import { printable } from "../lib/index.ts";
import type { LiveRequest, Party } from "../read-api/index.ts";
import type { Io } from "./command.ts";
import { milliseconds } from "./traffic/figures.ts";
import { durationOf, type LiveFlags, liveRequests, queryOf, withLiveOptions } from "./traffic/live.ts";

interface TapFlags extends LiveFlags {
  readonly headers?: string;
  readonly output: "text" | "json";
}

const minuteMs = 60_000;

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  withLiveOptions(program.command("tap"))
    .summary("Watch single requests as they are made")
    .option("--for <duration>", "how long to look, up to 1m", "1m")
    .option("--headers <names>", "show these headers too, where the control plane allows it")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["text", "json"]).default("text"))
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead tap deploy/reviews-v1\n  fairlead tap svc/reviews -n shop --status 5xx\n  fairlead tap ns/shop --from ns/web --path /api/ -o json\n  fairlead tap deploy/productpage-v1 --to svc/reviews --for 10s\n",
    )
    .action(async (what: readonly string[], flags: TapFlags) => exit(await tap(what, flags, io)));
}

async function tap(what: readonly string[], flags: TapFlags, io: Io): Promise<number> {
  const forMs = Math.min(durationOf(flags, minuteMs), minuteMs);
  const headers = flags.headers === undefined ? {} : { headers: flags.headers };
  const query = queryOf(what, flags, { for: `${forMs}ms`, ...headers });
  const colours = io.tty && io.env.TERM !== "dumb" && !io.env.NO_COLOR;
  let [shown, leftOut, proxies] = [0, 0, 0];
  for await (const batch of liveRequests(flags, query, io)) {
    for (const request of batch.requests)
      io.out(flags.output === "json" ? `${printable(JSON.stringify(request))}\n` : `${lineOf(request, colours)}\n`);
    shown += batch.requests.length;
    leftOut += batch.leftOut;
    proxies = Math.max(proxies, batch.proxies);
  }
  if (proxies === 0) io.err("no proxy that reports to this control plane is meant\n");
  else io.err(`${shown} requests of ${proxies} proxies${leftOut > 0 ? `; ${leftOut} more were not shown` : ""}\n`);
  return 0;
}

function lineOf(request: LiveRequest, colours: boolean): string {
  const { at, side, source, destination, protocol, method, authority, path, flags, headers } = request;
  const what = protocol === "tcp" ? "tcp connection" : `${method} ${authority}${path}`;
  const noted = Object.entries(headers).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const parts = [
    at.slice(11, 23),
    side === "source" ? "out" : "in ",
    `${nameOf(source, request)} -> ${nameOf(destination, request)}`,
    what,
    statusOf(request, colours),
    protocol === "tcp" ? `${request.sentBytes}B/${request.receivedBytes}B` : milliseconds(request.durationMs),
    ...(request.mutualTls ? ["mtls"] : []),
    ...(flags === "" ? [] : [flags]),
    ...noted,
  ];
  // The colours are ours, all else is somebody else's.
  return parts.map((part, i) => (i === 4 ? part : printable(part))).join("  ");
}

/** A workload, or the address of who is not known. */
function nameOf(party: Party, { side, source, peerAddress }: LiveRequest): string {
  if (party.workload !== "") return `${party.workload}.${party.namespace}`;
  const isPeer = (party === source) === (side === "destination");
  return (isPeer && peerAddress) || "unknown";
}

function statusOf({ status, grpcStatus, protocol }: LiveRequest, colours: boolean): string {
  if (protocol === "tcp") return "-";
  const text = grpcStatus === "" ? String(status) : `${status} grpc=${printable(grpcStatus)}`;
  if (!colours || (status >= 100 && status < 400)) return text;
  return `\u001b[${status >= 400 && status < 500 ? "33" : "31"}m${text}\u001b[0m`;
}
