/** What processes of Pods write in; an address out at which the API server asks a node for it. */
import { createServer } from "node:https";
import { createCa } from "../traffic/ca.ts";

export interface PodLogs {
  readonly port: number;
  add(pod: string, line: string): void;
  close(): void;
}

/** By `namespace/name`. */
export async function servePodLogs(host: string): Promise<PodLogs> {
  const written = new Map<string, { readonly at: number; readonly line: string }[]>();
  const identity = await (await createCa()).server(["node"]);
  const server = createServer(identity, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "https://node");
    const [, verb, namespace, name] = pathname.split("/");
    if (verb !== "containerLogs") return void response.writeHead(404).end();
    const since = Date.parse(searchParams.get("sinceTime") ?? "") || 0;
    const lines = (written.get(`${namespace}/${name}`) ?? []).filter(({ at }) => at >= since);
    response.end(lines.map(({ line }) => `${line}\n`).join(""));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  return {
    port: typeof address === "object" ? (address?.port ?? 0) : 0,
    add(pod, line) {
      const lines = written.get(pod) ?? [];
      lines.push({ at: Date.now(), line });
      written.set(pod, lines);
    },
    close: () => void server.close(),
  };
}
