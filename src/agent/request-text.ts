/** A port or socket of this Pod and a path in; its answer out, within bounds. */
import { request } from "node:http";
import { collectBytes, FairleadError, systemCode } from "../lib/index.ts";

const maxBytes = 64 * 1024 * 1024;

/** A port, or a unix socket. */
export type ServerAddress = { readonly host: string; readonly port: number } | { readonly socketPath: string };

export interface TextRequest {
  readonly method?: string;
  readonly at: ServerAddress;
  readonly path: string;
  readonly accept?: string;
  readonly body?: string;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
}

export interface TextAnswer {
  readonly status: number;
  readonly body: string;
}

/** Throws `unavailable` for anything but a 200. */
export async function requestText(what: TextRequest): Promise<string> {
  const { status, body } = await requestAnswer(what);
  if (status !== 200) throw silent(what.at, `HTTP ${status}`);
  return body;
}

/** Throws `unavailable` where nobody answers, or not in time. */
export function requestAnswer(what: TextRequest): Promise<TextAnswer> {
  const { method = "GET", at, path, accept, body = "", timeoutMs = 5000 } = what;
  return new Promise((resolve, reject) => {
    const fail = (cause: string): void => reject(silent(at, cause));
    const headers = {
      connection: "close",
      ...(accept === undefined ? {} : { accept }),
      ...(body === "" ? {} : { "content-length": Buffer.byteLength(body) }),
    };
    const outgoing = request({ method, ...at, path, timeout: timeoutMs, headers }, (response) => {
      const bytes = collectBytes();
      response.on("data", (chunk: Buffer) => {
        bytes.add(chunk);
        if (bytes.size > (what.maxBytes ?? maxBytes)) response.destroy(new Error("the answer is too large"));
      });
      response.on("error", (error) => fail(error.message));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: bytes.whole().toString() }));
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error("timed out")));
    // An attempt on both addresses of a name fails with a code and without a word.
    outgoing.on("error", (error) => fail(error.message || (systemCode(error) ?? error.name)));
    outgoing.end(body);
  });
}

function silent(at: ServerAddress, cause: string): FairleadError {
  const name = "port" in at ? `port ${at.port}` : at.socketPath;
  return new FairleadError("unavailable", `${name} does not answer: ${cause}`);
}
