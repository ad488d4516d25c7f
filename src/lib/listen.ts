/** A server and an address in; a server that listens there out, on a unix socket for its owner only. */
import { chmodSync, lstatSync, unlinkSync } from "node:fs";
import type { Server } from "node:net";
import { FairleadError, systemCode } from "./error.ts";

export type ListenAddress = { readonly host: string; readonly port: number } | { readonly path: string };

/** As many as a system takes by itself: with node's 511, of ten thousand who come back at once many were dropped. */
const backlog = 4096;

/** Resolves with the bound address; a busy port is a FairleadError `port-in-use` with the hint. */
export function listenOn(
  server: Server,
  address: ListenAddress,
  hint = "stop what uses it, or choose another port (0 takes any free one)",
): Promise<{ readonly host: string; readonly port: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ host: string; port: number }>();
  const name = "path" in address ? address.path : `${address.host}:${address.port}`;
  const onError = (cause: Error): void => {
    const busy = systemCode(cause) === "EADDRINUSE";
    const why = busy ? "the port is in use" : cause.message;
    reject(
      new FairleadError(busy ? "port-in-use" : "unavailable", `cannot listen on ${name}: ${why}`, { cause, hint }),
    );
  };
  server.once("error", onError);
  server.once("listening", () => {
    server.off("error", onError);
    // Such as too many open files: what is connected goes on.
    server.on("error", () => {});
    if ("path" in address) chmodSync(address.path, 0o600);
    const bound = server.address();
    resolve(typeof bound === "object" && bound ? { host: bound.address, port: bound.port } : { host: name, port: 0 });
  });
  if ("path" in address) listenOnSocket(server, address.path);
  else server.listen({ ...address, backlog });
  return promise;
}

/** The socket file is made inside `listen`, so the mask keeps it private from its first moment. */
function listenOnSocket(server: Server, path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) unlinkSync(path);
  const mask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(mask);
  }
}
