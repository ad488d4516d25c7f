// Loaded before a process of ours, which so can be harmed from inside by files in the folder FAIRLEAD_CHAOS. Its wall clock is
// off by as many milliseconds as `clock` says; only Date is moved: the kernel has no wall clock per namespace, so what OpenSSL
// and Envoy read stays right. What `act-PID` says is done once: `throw`, `reject`, `block MS`, `grow MB`.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const dir = process.env.FAIRLEAD_CHAOS ?? "";
const RealDate = Date;
let offsetMs = 0;
/** @param {string} name */
const read = (name) => {
  try {
    return readFileSync(join(dir, name), "utf8");
  } catch {
    return "";
  }
};
/** @type {Buffer[]} */
const held = [];
/** @type {readonly [string, (value: number) => void][]} */
const known = [
  [
    "throw",
    () => {
      throw new Error("thrown on purpose");
    },
  ],
  ["reject", () => void Promise.reject(new Error("rejected on purpose"))],
  [
    "block",
    (ms) => {
      for (const until = performance.now() + ms; performance.now() < until; );
    },
  ],
  ["grow", (megabytes) => void held.push(Buffer.alloc(megabytes * 1024 * 1024, 1))],
];
const acts = new Map(known);
const look = () => {
  offsetMs = Number(read("clock")) || 0;
  const file = `act-${process.pid}`;
  const [act = "", value] = read(file).split(" ");
  if (act === "") return;
  rmSync(join(dir, file), { force: true });
  acts.get(act)?.(Number(value));
};
look();
setInterval(look, 100).unref();

const now = () => RealDate.now() + offsetMs;
globalThis.Date = new Proxy(RealDate, {
  construct: (date, given, target) => Reflect.construct(date, given.length === 0 ? [now()] : given, target),
  get: (date, key) => (key === "now" ? now : Reflect.get(date, key)),
});
