/**
 * A Node process of this machine in; what is alive in its memory once garbage was collected, out. It is asked through its
 * inspector, which a signal opens and the last word closes again.
 */
import { wait } from "../../src/lib/index.ts";

/** Where a process opens its inspector when it is signalled. */
const inspector = "http://127.0.0.1:9229/json";
const openMs = 20_000;

interface Answer {
  readonly id: number;
  readonly result: { readonly result?: { readonly value?: unknown } };
}

/** Undefined where it could not be asked. One at a time: they share the port. */
export async function liveBytes(pid: number): Promise<number | undefined> {
  process.kill(pid, "SIGUSR1");
  const url = await openInspector();
  if (url === undefined) return undefined;
  const socket = new WebSocket(url);
  await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
  let last = 0;
  const send = (method: string, params: object = {}): Promise<unknown> => {
    const id = ++last;
    return new Promise((resolve) => {
      const hear = ({ data }: MessageEvent): void => {
        const answer: Answer = JSON.parse(String(data));
        if (answer.id !== id) return;
        socket.removeEventListener("message", hear);
        resolve(answer.result.result?.value);
      };
      socket.addEventListener("message", hear);
      socket.send(JSON.stringify({ id, method, params }));
    });
  };
  const evaluate = (expression: string): Promise<unknown> => send("Runtime.evaluate", { expression });
  // What finalisers let go is collected by the second.
  for (let i = 0; i < 2; i++) await send("HeapProfiler.collectGarbage");
  const bytes = await evaluate("(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())");
  await evaluate(`setTimeout(() => process.getBuiltinModule("node:inspector").close(), 100)`);
  socket.close();
  await wait(500);
  return typeof bytes === "number" ? bytes : undefined;
}

async function openInspector(): Promise<string | undefined> {
  for (const deadline = performance.now() + openMs; performance.now() < deadline; await wait(200)) {
    const listed: unknown = await fetch(inspector).then(
      (answer) => answer.json(),
      () => undefined,
    );
    const [first] = Array.isArray(listed) ? listed : [];
    if (typeof first?.webSocketDebuggerUrl === "string") return first.webSocketDebuggerUrl;
  }
  return undefined;
}
