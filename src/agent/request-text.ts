/** A port or socket of this Pod and a path in; the body of its answer out, within bounds. */
import { request } from "node:http";
import { FairleadError } from "../lib/index.ts";

const maxBytes = 64 * 1024 * 1024;

/** A port, or a unix socket. */
export type Place = { readonly host: string; readonly port: number } | { readonly socketPath: string };

export interface TextRequest {
  readonly method?: "GET" | "POST";
  readonly at: Place;
  readonly path: string;
  readonly accept?: string;
}

/** Throws `unavailable` for anything but a 200. */
export function requestText({ method = "GET", at, path, accept }: TextRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const name = "port" in at ? `port ${at.port}` : at.socketPath;
    const fail = (cause: string): void => reject(new FairleadError("unavailable", `${name} does not answer: ${cause}`));
    const headers = { connection: "close", ...(accept === undefined ? {} : { accept }) };
    const outgoing = request({ method, ...at, path, timeout: 5000, headers }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBytes) response.destroy(new Error("the answer is too large"));
        else chunks.push(chunk);
      });
      response.on("error", (error) => fail(error.message));
      response.on("end", () =>
        response.statusCode === 200 ? resolve(Buffer.concat(chunks).toString()) : fail(`HTTP ${response.statusCode}`),
      );
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error("timed out")));
    outgoing.on("error", (error) => fail(error.message));
    outgoing.end();
  });
}
