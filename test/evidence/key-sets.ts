/** A RequestAuthentication in; one text out that differs whenever other key sets are fetched for it, or otherwise. */
import { createGraph } from "../../src/collections/index.ts";
import { createJwksResolver } from "../../src/fetch/index.ts";
import { silentLogger } from "../../src/lib/index.ts";
import type { Config, KubeObject, RequestAuthenticationSpec } from "../../src/model/index.ts";

export async function keySetsOf(object: KubeObject): Promise<string> {
  const asked: string[] = [];
  const nobody = (): Promise<never> => Promise.reject(new Error("nobody answers here"));
  const graph = createGraph();
  const objects = graph.source<Config<RequestAuthenticationSpec>>("RequestAuthentication");
  const spec = object.spec as RequestAuthenticationSpec;
  objects.set("tried", { kind: object.kind, meta: { name: "tried", namespace: "red" }, spec });
  const resolver = createJwksResolver({
    graph,
    requestAuthentications: objects,
    client: {
      get(url, { timeoutMs }) {
        asked.push(`${url} ${timeoutMs}`);
        return nobody();
      },
      ask: nobody,
    },
    ...{ log: silentLogger, monotonicMs: () => 0, random: () => 0, signal: new AbortController().signal },
  });
  await resolver.settled();
  resolver.close();
  return asked.join("\n");
}
