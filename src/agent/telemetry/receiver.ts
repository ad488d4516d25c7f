/** A request counter in; the route to which Envoy's access logger sends its batches out. */
import { FairleadError, type Logger } from "../../lib/index.ts";
import { type Method, type Payload, type Route, RpcError, rawCodec, status, unary } from "../../rpc/index.ts";
import type { RequestCounter } from "./request-counter.ts";

const method: Method<Payload, Payload> = {
  path: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
  request: rawCodec,
  response: rawCodec,
};

export function createMetricsReceiver(counter: Pick<RequestCounter, "take">, log: Logger): Route {
  return unary(method, async (payload) => {
    try {
      for (const bytes of payload) counter.take(bytes);
    } catch (error) {
      const cause = FairleadError.from(error);
      log.warn("a batch of requests cannot be counted", { cause: cause.message });
      throw new RpcError(status.invalidArgument, "not an OTLP logs request", { cause });
    }
    // An empty message: everything was taken.
    return [];
  });
}
