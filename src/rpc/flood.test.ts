/** Floods of HTTP/2 frames, by a client that reads what comes back as a patient attacker would. */
import { connect as connectSocket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { flood, frameFloods, greet } from "../../test/floods/frames.ts";
import { silentLogger } from "../lib/index.ts";
import { createRpcClient } from "./client.ts";
import { bidi } from "./route.ts";
import { createRpcServer } from "./server.ts";
import { echo, message } from "./testing.ts";

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

test.each(Object.entries(frameFloods(echo.chat.path)))(
  "R04: a flood of %s costs its sender the session, and others are served",
  async (_name, next) => {
    const chat = bidi(echo.chat, async (requests, _call, send) => {
      for await (const one of requests) await send(one);
    });
    // However seldom it is looked whether a client is still there.
    const server = createRpcServer({ routes: [chat], log: silentLogger, limits: { keepaliveMs: 1e9 } });
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    open.push(() => server.close());
    const client = createRpcClient({ target: { host: "127.0.0.1", port } });
    open.push(() => client.close());
    const other = await client.stream(echo.chat);
    const say = async (words: string): Promise<string | undefined> => {
      await other.send(message(words));
      return (await other.messages.next()).value?.value;
    };
    expect(await say("before")).toBe("before");

    const socket = connectSocket(port, "127.0.0.1");
    open.push(() => void socket.destroy());
    greet(socket);
    const flooding = flood(socket, next);
    expect(await say("meanwhile")).toBe("meanwhile");
    expect(await flooding).toBe(true);
    expect(await say("after")).toBe("after");
    // Nothing of the flood has become a call.
    expect(server.load()).toEqual({ connections: 1, calls: 1 });
  },
);
