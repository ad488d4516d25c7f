/**
 * A process of simulated proxies. In, by message: how many, of what shape, against whom; then what to wait for. Out: when
 * all are warm, how long each waited for its first response, and for one that contains what is waited for.
 */
import { type LoadShape, loadProxy, type ProxyTarget, runProxy } from "./load-proxy.ts";

export interface LoadStart extends LoadShape {
  readonly what: "start";
  readonly proxies: number;
  /** The number of the first of them; 0 where absent. */
  readonly from?: number;
  readonly target: ProxyTarget;
  /** Certificate and key by `namespace/account`. */
  readonly certificates?: Readonly<Record<string, { readonly cert: string; readonly key: string }>>;
  /** The connects are spread over this time. */
  readonly rampMs: number;
}

export type LoadRequest =
  | LoadStart
  /** Waits until so many proxies have got something with the needle in it. */
  | { readonly what: "watch"; readonly needle: string; readonly proxies: number }
  | { readonly what: "counts" };

export interface LoadCounts {
  readonly bytes: number;
  readonly responses: number;
  /** Streams that ended. */
  readonly cut: number;
  readonly warm: number;
  /** Milliseconds since something last came. */
  readonly quietMs: number;
}

export type LoadAnswer =
  /** With how long each stream, from its connect on, waited for its first response. */
  | { readonly what: "warm"; readonly tookMs: number; readonly firstMs: readonly number[] }
  | { readonly what: "watching" }
  /** Moments at which proxies had it, in milliseconds since the epoch, in order. */
  | { readonly what: "seen"; readonly at: readonly number[] }
  | ({ readonly what: "counts" } & LoadCounts);

const now = (): number => performance.timeOrigin + performance.now();
const tell = (answer: LoadAnswer): void => void process.send?.(answer);
const counts = { bytes: 0, responses: 0, cut: 0, warm: 0 };
const firstMs: number[] = [];
let last = now();
let watched: { readonly needle: Buffer; readonly wanted: number; readonly at: number[] } | undefined;

function start({ proxies, from = 0, target, certificates, rampMs, ...shape }: LoadStart): void {
  const began = now();
  const one = async (index: number): Promise<void> => {
    await pause((rampMs / proxies) * index);
    for (;;) {
      const proxy = loadProxy(from + index, shape);
      const own = certificates?.[`${proxy.namespace}/${proxy.account}`];
      const to = own ? { ...target, tls: { ...target.tls, ...own } } : target;
      let [isWarm, isAnswered, seen] = [false, false, watched];
      const beganMs = now();
      const events = {
        onMessage(message: Uint8Array) {
          counts.bytes += message.length;
          counts.responses++;
          last = now();
          if (!isAnswered) firstMs.push(last - beganMs);
          isAnswered = true;
          if (
            !watched ||
            seen === watched ||
            !Buffer.from(message.buffer, message.byteOffset, message.length).includes(watched.needle)
          )
            return;
          seen = watched;
          if (watched.at.push(last) === watched.wanted) tell({ what: "seen", at: watched.at });
        },
        onWarm() {
          isWarm = true;
          if (++counts.warm === proxies) tell({ what: "warm", tookMs: now() - began, firstMs });
        },
      };
      const error = await runProxy(to, shape.mode, proxy, events, new AbortController().signal).then(
        () => "the server ended the stream",
        (cause: unknown) => String(cause),
      );
      if (isWarm) counts.warm--;
      if (counts.cut++ < 5) process.stderr.write(`proxy ${index}: ${error}\n`);
      await pause(500);
    }
  };
  for (let index = 0; index < proxies; index++) void one(index);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

process.on("message", (request: LoadRequest) => {
  if (request.what === "start") start(request);
  if (request.what === "watch") {
    watched = { needle: Buffer.from(request.needle), wanted: request.proxies, at: [] };
    tell({ what: "watching" });
  }
  if (request.what === "counts") tell({ what: "counts", ...counts, quietMs: now() - last });
});
process.on("disconnect", () => process.exit(0));
