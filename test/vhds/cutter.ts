/** A port of a control plane in; one that leads to it and can be cut at a chosen place of what the control plane says out. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Cutter {
  readonly port: number;
  /** At once. */
  cut(): void;
  /** When virtual hosts are about to be sent: the proxy has the route configuration by then, and no hosts. */
  cutBeforeHosts(): void;
  /** After so many more bytes, wherever in a message that is. */
  cutAfter(bytes: number): void;
  /** How often it was cut, and how often between a route configuration and its hosts. */
  counts(): { readonly cuts: number; readonly beforeHosts: number };
  close(): Promise<void>;
}

const hostsType = Buffer.from("envoy.config.route.v3.VirtualHost");
const routesType = Buffer.from("envoy.config.route.v3.RouteConfiguration");

type Aim = { readonly at: "hosts"; sawRoutes: boolean } | { readonly at: "bytes"; left: number };

export async function createCutter(target: number): Promise<Cutter> {
  const open = new Set<Socket>();
  let aim: Aim | undefined;
  let cuts = 0;
  let beforeHosts = 0;

  const cut = (): void => {
    aim = undefined;
    if (open.size > 0) cuts++;
    for (const socket of open) socket.destroy();
  };

  /** How much of the chunk still goes through; undefined for all of it. */
  function goesThrough(chunk: Buffer): number | undefined {
    if (aim?.at === "bytes") {
      aim.left -= chunk.length;
      return aim.left < 0 ? chunk.length + aim.left : undefined;
    }
    if (aim?.at !== "hosts") return undefined;
    const at = chunk.indexOf(hostsType);
    const routes = chunk.indexOf(routesType);
    if (routes >= 0 && (at < 0 || routes < at)) aim.sawRoutes = true;
    if (at >= 0 && aim.sawRoutes) beforeHosts++;
    return at < 0 ? undefined : at;
  }

  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on("data", (chunk: Buffer) => {
      const length = goesThrough(chunk);
      if (length === undefined) {
        if (!client.write(chunk)) upstream.pause();
        return;
      }
      upstream.pause();
      aim = undefined;
      // What went before must have left before the end does.
      client.write(chunk.subarray(0, length), cut);
    });
    client.on("drain", () => upstream.resume());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    cutBeforeHosts() {
      aim = { at: "hosts", sawRoutes: false };
    },
    cutAfter(bytes) {
      aim = { at: "bytes", left: bytes };
    },
    counts: () => ({ cuts, beforeHosts }),
    async close() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
