/** Streams of requests in; how many there were, and each that failed, out. The client has no retries. */
import http from "node:http";
import { text } from "node:stream/consumers";

export interface StreamSpec {
  readonly name: string;
  readonly url: string;
  readonly workers: number;
  readonly pauseMs: number;
  /** A connection, and so a look-up of the name, for each request. */
  readonly fresh?: boolean;
}

export interface Failure {
  /** Also in the access logs of the proxies on its way. */
  readonly id: string;
  readonly stream: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** 0 where there was no answer. */
  readonly status: number;
  readonly text: string;
}

export interface Taken {
  readonly requests: number;
  readonly slowestMs: number;
  readonly failures: readonly Failure[];
  /** What the last answer said of the configuration that it came by. */
  readonly generation: string;
}

/** Those for which there are servers. `pauseMs` between two requests of one worker: what is asked of the machine. */
export function loadStreams(apps: readonly string[], pauseMs: number): readonly StreamSpec[] {
  const stream = (name: string, url: string, more: Partial<StreamSpec> = {}): StreamSpec => ({
    ...{ name, url, workers: 2, pauseMs },
    ...more,
  });
  const has = (...wanted: readonly string[]): boolean => wanted.every((app) => apps.includes(app));
  return [
    stream("web", "http://web:8000/"),
    stream("fresh", `http://${has("api") ? "api" : "web"}:8000/`, { fresh: true, pauseMs: pauseMs * 2 }),
    stream("churned", "http://churned:8000/"),
    ...(has("api", "store") ? [stream("chain", "http://web:8000/via/api/store")] : []),
    // Workloads whose certificates live for 30 s.
    ...(has("brief") ? [stream("brief", "http://brief:8000/")] : []),
  ];
}

/** What has come since it was last taken. */
export function takeLoad(socketPath: string): Promise<Taken> {
  return new Promise((resolve, reject) => {
    http
      .get({ socketPath, path: "/", agent: false }, (response) => {
        text(response).then((body) => resolve(JSON.parse(body)), reject);
      })
      .on("error", reject);
  });
}
