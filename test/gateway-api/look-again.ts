/** A look at a cluster in; done again and again until it is closed, whatever one of them fails with. */
import { wait } from "../../src/lib/index.ts";

const periodMs = 300;

export function lookAgain(
  what: string,
  look: () => Promise<void>,
  say: (text: string) => void,
): { close(): Promise<void> } {
  let closed = false;
  const looking = (async () => {
    while (!closed) {
      await look().catch((error) => say(`${what}: ${error.message}`));
      await wait(periodMs);
    }
  })();
  return {
    async close() {
      closed = true;
      await looking;
    },
  };
}
