/** What the injector noted of the Pod's scrape annotations in; where the application shows its metrics, and those metrics, out. */
import { isRecord, parseJson, readTextMap } from "../lib/index.ts";
import { requestText } from "./request-text.ts";

export interface AppMetrics {
  readonly port: number;
  readonly path: string;
}

/**
 * ISTIO_PROMETHEUS_ANNOTATIONS has what the Pod was annotated with before the injector led Prometheus to the agent;
 * without an injector the annotations are the Pod's own. A port of ours would be asked without end.
 */
export function parseAppMetrics(
  noted: string | undefined,
  annotations: Readonly<Record<string, string>>,
  ownPorts: readonly number[],
): AppMetrics | undefined {
  const own = (key: string): string => annotations[`prometheus.io/${key}`] ?? "";
  const { scrape, port, path } = noted
    ? readNoted(noted)
    : { scrape: own("scrape"), port: own("port"), path: own("path") };
  const number = Number(port || "80");
  if (scrape !== "true" || !Number.isInteger(number) || number < 1 || number > 65_535) return undefined;
  if (ownPorts.includes(number)) return undefined;
  const target = path || "/metrics";
  return { port: number, path: target.startsWith("/") ? target : `/${target}` };
}

function readNoted(text: string): Readonly<Record<string, string>> {
  try {
    const value = parseJson(text);
    return isRecord(value) ? readTextMap(value) : {};
  } catch {
    return {};
  }
}

/** In the one format that can be put together with the others'. */
export async function readAppMetrics({ port, path }: AppMetrics, host: string): Promise<string> {
  const text = await requestText({ at: { host, port }, path, accept: "text/plain;version=0.0.4" });
  return text.endsWith("\n") || text === "" ? text : `${text}\n`;
}
