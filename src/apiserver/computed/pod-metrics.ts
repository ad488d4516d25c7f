/** Pods that run on this machine in; what each of their containers uses, as their hosts say, out. */
import { request as httpRequest } from "node:http";
import { isRecord, parseJson, readList, readNumber, readText } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { textAt } from "../access.ts";
import { podMetricsKind } from "./kinds.ts";
import { measured } from "./measured.ts";
import { usageOf } from "./quantity.ts";

/** At a time: a mesh may have thousands of Pods, of which others run most. */
const atOnce = 32;
const answerMs = 5_000;
const maxAnswer = 64 * 1024;

interface PodMetricsParts {
  /** The socket of whoever runs the Pod with this uid; undefined where nobody can run any. */
  readonly podSocket: (uid: string) => string | undefined;
  readonly now: () => Date;
}

export async function podMetrics(parts: PodMetricsParts, pods: readonly KubeObject[]): Promise<readonly KubeObject[]> {
  const running = pods.filter((pod) => textAt(pod, "status", "phase") === "Running");
  const out: KubeObject[] = [];
  for (let i = 0; i < running.length; i += atOnce) {
    const group = await Promise.all(running.slice(i, i + atOnce).map((pod) => metricsOf(parts, pod)));
    out.push(...group.filter((one) => one !== undefined));
  }
  return out;
}

/** Undefined where nobody here runs it. */
async function metricsOf(parts: PodMetricsParts, pod: KubeObject): Promise<KubeObject | undefined> {
  const socketPath = parts.podSocket(pod.metadata.uid ?? "");
  const answer = socketPath === undefined ? undefined : await askUsage(socketPath);
  if (!isRecord(answer)) return undefined;
  const containers = readList(answer["containers"])
    .filter(isRecord)
    .map((one) => ({
      name: readText(one["name"]),
      usage: usageOf(readNumber(one["processors"]) ?? 0, readNumber(one["memoryBytes"]) ?? 0),
    }));
  if (containers.length === 0) return undefined;
  return { ...measured(podMetricsKind, pod, parts.now(), readNumber(answer["windowMs"]) ?? 0), containers };
}

/** Whatever goes wrong, there is no figure. */
function askUsage(socketPath: string): Promise<unknown> {
  return new Promise((resolve) => {
    const asked = httpRequest({ socketPath, path: "/usage", agent: false, timeout: answerMs }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (text.length > maxAnswer) asked.destroy();
      });
      answer.on("end", () => resolve(answer.statusCode === 200 ? parsed(text) : undefined));
      answer.on("error", () => resolve(undefined));
    });
    asked.on("timeout", () => asked.destroy()).on("close", () => resolve(undefined));
    asked.on("error", () => {}).end();
  });
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
