/** Floods of HTTP/1, by name: what the floods of frames are to who speaks HTTP/2. */
import type { Flood } from "./frames.ts";

const get = "GET / HTTP/1.1\r\nHost: localhost\r\n";
const chunked = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

const first = (begin: string, next: string): Flood => {
  const [head, rest] = [Buffer.from(begin), Buffer.from(next)];
  return (round) => (round === 0 ? head : rest);
};

/**
 * Blank lines, and bodies that go on after their answer, are let go as well, but after seconds: these are in
 * `src/lib/connection-guard.test.ts`.
 */
export const lineFloods: Readonly<Record<string, Flood>> = {
  "requests that wait for no answer": () => Buffer.from(`${get}\r\n`),
  headers: first(get, "x: y\r\n"),
  "one header without an end": first(`${get}x: `, "y".repeat(100)),
  "an extension of a chunk without an end": first(`${chunked}1;a=`, "y".repeat(100)),
  trailers: first(`${chunked}0\r\n`, "x: y\r\n"),
};
