// Loaded before a process of ours: its wall clock is off by as many milliseconds as the file FAIRLEAD_CHAOS_CLOCK says.
// Only Date is moved. The kernel has no wall clock per namespace, so what OpenSSL and Envoy read stays right.
import { readFileSync } from "node:fs";

const file = process.env.FAIRLEAD_CHAOS_CLOCK ?? "";
const RealDate = Date;
let offsetMs = 0;
const read = () => {
  try {
    offsetMs = Number(readFileSync(file, "utf8")) || 0;
  } catch {
    offsetMs = 0;
  }
};
read();
setInterval(read, 100).unref();

const now = () => RealDate.now() + offsetMs;
globalThis.Date = new Proxy(RealDate, {
  construct: (date, given, target) => Reflect.construct(date, given.length === 0 ? [now()] : given, target),
  get: (date, key) => (key === "now" ? now : Reflect.get(date, key)),
});
