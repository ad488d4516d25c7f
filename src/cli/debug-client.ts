/** A running standalone mesh in; answers of its control plane's debug paths, and of its ControlZ, out. */
import { type ErrorCode, FairleadError, fileLimits, parseJson } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { meshDataDir } from "./mesh-data-dir.ts";
import { addressesFile, readAddresses } from "./up/bound-addresses.ts";

export interface DebugFlags {
  /** Data folder of a running `fairlead up`. */
  readonly data?: string;
  /** `host:port` of a control plane's port, such as a port-forward to 15014, or to 9876 for ControlZ. */
  readonly address?: string;
}

/** With a body it is a question that does not fit into a URL, and that may take its time. */
export async function askDebug(flags: DebugFlags, path: string, io: Io, body?: string): Promise<unknown> {
  const address = flags.address ?? boundAddress(meshDataDir(flags, io), "monitoring");
  const { status, text } = await request(
    address,
    `debug/${path}`,
    body === undefined ? { method: "GET" } : { method: "POST", body },
    io,
  );
  if (status >= 300) throw new FairleadError(codeOf(status), text.trim());
  return parseJson(text, fileLimits);
}

const codeOf = (status: number): ErrorCode =>
  status === 404
    ? "not-found"
    : status >= 500
      ? "unavailable"
      : status < 401 || status === 413
        ? "invalid"
        : "forbidden";

/** Without a body it is a question, with one a change. */
export async function askControlZ(flags: DebugFlags, path: string, io: Io, body?: object): Promise<unknown> {
  const address = flags.address ?? boundAddress(meshDataDir(flags, io), "controlz");
  const put = body && { method: "PUT", body: JSON.stringify(body) };
  const { status, text } = await request(address, path, put ?? { method: "GET" }, io);
  if (status >= 300) throw new FairleadError(status < 401 ? "invalid" : "forbidden", text.trim());
  return text === "" ? undefined : parseJson(text, fileLimits);
}

/** Until a control plane is known to be silent; and for a question that it may have to work for. */
const [answerMs, workMs] = [5_000, 30_000];

async function request(
  address: string,
  path: string,
  init: RequestInit,
  io: Io,
): Promise<{ readonly status: number; readonly text: string }> {
  const signal = AbortSignal.any([io.signal, AbortSignal.timeout(init.method === "POST" ? workMs : answerMs)]);
  try {
    const answer = await fetch(`http://${address}/${path}`, { ...init, signal });
    return { status: answer.status, text: await answer.text() };
  } catch (cause) {
    throw new FairleadError("unavailable", `the control plane at ${address} does not answer`, {
      hint: "is it running? `fairlead up` says where",
      cause,
    });
  }
}

function boundAddress(dir: string, name: "monitoring" | "controlz"): string {
  const addresses = readAddresses(dir);
  if (!addresses)
    throw new FairleadError("not-found", `no standalone mesh runs on ${dir}`, {
      hint: `name its folder with --data DIR, or the ${name} port of a control plane with --address HOST:PORT`,
    });
  const address = addresses[name];
  if (typeof address !== "string")
    throw new FairleadError("invalid", `${addressesFile(dir)} names no ${name} address`, {
      hint: "start `fairlead up` again",
    });
  return address;
}
