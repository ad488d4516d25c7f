/** For tests: the debug paths on requests, on a port as a control plane has them. */
import { createTapSessions, createTapView, createTrafficView } from "../../control-plane/traffic/index.ts";
import { jsonPieces, silentLogger } from "../../lib/index.ts";
import { answerDebug, createHttpServer, type HttpServer } from "../../ops/index.ts";
import { createTapHub, createTrafficStore, type TapView, type TrafficView } from "../../traffic/index.ts";

const clocks = { now: () => new Date(), monotonicMs: () => performance.now() };

export async function servePlane({
  store = createTrafficStore(clocks),
  taps = createTapHub({ ...clocks, headers: [] }),
}: {
  readonly store?: TrafficView;
  readonly taps?: TapView;
}): Promise<HttpServer> {
  const sessions = createTapSessions({ taps, monotonicMs: clocks.monotonicMs, log: silentLogger, waitMs: 50 });
  const views = new Map([
    ["trafficz", createTrafficView({ view: store, everywhere: store.snapshot })],
    ["tapz", createTapView(sessions)],
  ]);
  const sources = {
    systemNamespace: "istio-system",
    ads: { connected: () => [].values(), statusOf: () => undefined },
    views,
  };
  return createHttpServer({
    address: { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    routes: new Map([
      [
        "/debug/",
        async ({ url, remoteAddress }) => {
          const path = url.pathname.replace("/debug/", "");
          const asked = { path, query: url.searchParams, remoteAddress, identity: undefined };
          const { status, body } = await answerDebug(sources, asked);
          return { status, body: typeof body === "string" ? body : { pieces: jsonPieces(body) } };
        },
      ],
    ]),
  });
}
