/**
 * A Node process of this machine in; what is alive in its memory once garbage was collected, out. It is asked through its
 * inspector, which a signal opens and the last word closes again: inside its own network namespace, by a process that is
 * started there with this file and its id.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { wait } from "../../src/lib/index.ts";

/** Where a process opens its inspector when it is signalled. */
const inspector = "http://127.0.0.1:9229/json";
const openMs = 60_000;

interface Answer {
  readonly id: number;
  readonly result: { readonly result?: { readonly value?: unknown } };
}

/** Undefined where it could not be asked. One at a time: they share the port. */
export async function liveBytes(pid: number, namespace?: string): Promise<number | undefined> {
  const own = [process.execPath, import.meta.filename, String(pid)];
  const [file = "", ...args] = namespace === undefined ? own : ["ip", "netns", "exec", namespace, ...own];
  const said = await promisify(execFile)(file, args).then(
    ({ stdout }) => stdout,
    () => "",
  );
  return /^\d+$/.test(said) ? Number(said) : undefined;
}

async function askLive(pid: number): Promise<number | undefined> {
  process.kill(pid, "SIGUSR1");
  for (const deadline = performance.now() + openMs; performance.now() < deadline; await wait(500)) {
    const url = await openInspector(deadline);
    const asked = url === undefined ? undefined : await connect(url);
    if (!asked) return undefined;
    const isMeant = (await asked.evaluate("process.pid")) === pid;
    // What finalisers let go is collected by the second.
    for (let i = 0; i < 2 && isMeant; i++) await asked.send("HeapProfiler.collectGarbage");
    const bytes = await asked.evaluate("(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())");
    await asked.evaluate(`setTimeout(() => process.getBuiltinModule("node:inspector").close(), 100)`);
    asked.close();
    await wait(500);
    if (isMeant) return typeof bytes === "number" ? bytes : undefined;
    // One that was asked before, and opened too late to be heard, had the port.
    process.kill(pid, "SIGUSR1");
  }
  return undefined;
}

interface Inspected {
  send(method: string): Promise<unknown>;
  evaluate(expression: string): Promise<unknown>;
  close(): void;
}

async function connect(url: string): Promise<Inspected> {
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
  return { send, evaluate: (expression) => send("Runtime.evaluate", { expression }), close: () => socket.close() };
}

async function openInspector(deadline: number): Promise<string | undefined> {
  for (; performance.now() < deadline; await wait(200)) {
    const listed: unknown = await fetch(inspector).then(
      (answer) => answer.json(),
      () => undefined,
    );
    const [first] = Array.isArray(listed) ? listed : [];
    if (typeof first?.webSocketDebuggerUrl === "string") return first.webSocketDebuggerUrl;
  }
  return undefined;
}

if (process.argv[1] === import.meta.filename)
  process.stdout.write(String((await askLive(Number(process.argv[2]))) ?? ""));
