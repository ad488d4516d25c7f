/** Endpoints that come and go. */
import { wait } from "../../../src/lib/index.ts";
import { setChurned } from "../objects.ts";
import { type Fault, must } from "./fault.ts";

const changeMs = 50;
/** On a machine without time. */
const fewest = 10;

export const churn: Fault = {
  name: "churn",
  what: "20 changes a second of a Service's endpoints, for 8 s",
  expected: "always one or two of three are there",
  // Endpoints written by hand stay there when their server does not.
  ...{ holdMs: 8_000, touches: ["churned"], needs: ["api", "disk", "server"] },
  async inject({ mesh, tell }) {
    const addresses = await mesh.spareAddresses();
    const count = addresses.length;
    const stop = new AbortController();
    let changes = 0;
    const play = async (): Promise<void> => {
      const started = performance.now();
      for (let i = 0; !stop.signal.aborted; i++, changes++) {
        await setChurned(mesh.api, [...addresses, ...addresses].slice(i % count, (i % count) + 1 + (i % 2)));
        await wait(Math.max(0, started + (i + 1) * changeMs - performance.now()));
      }
    };
    const playing = play();
    return {
      async end() {
        stop.abort();
        await playing;
        must(changes >= fewest, `only ${changes} changes were made`);
        tell(`${changes} changes`);
      },
    };
  },
};
