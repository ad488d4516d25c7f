/** The proofs of the demo, one entry each: real requests against the running mesh. */
import { request } from "node:http";
import { connect } from "node:net";
import { FairleadError, wait } from "../../lib/index.ts";
import { type Identity, parseIdentity } from "../../model/index.ts";
import type { CheckContext } from "./check-context.ts";

export interface Check {
  readonly name: string;
  /** Resolves with what was seen; throws with the cause when it is not as it should be. */
  run(context: CheckContext): Promise<string>;
}

interface Reply {
  readonly status: number;
  readonly body: string;
  readonly ms: number;
}

/** How soon a change must be live. */
const liveMs = 2_000;

export const checks: readonly Check[] = [
  { name: "the page is served through the gateway", run: pageServed },
  { name: "reviews is spread over three versions", run: spread },
  { name: "VirtualService: all reviews from v1", run: allFromV1 },
  { name: "VirtualService: 90/10 between v1 and v3", run: canary },
  { name: "VirtualService: end-user jason sees v2", run: byHeader },
  { name: "fault injection: 503", run: faultAbort },
  { name: "fault injection: a delay of 2 s", run: faultDelay },
  { name: "every hop is mTLS between the right identities", run: identities },
  { name: "HTTP AuthorizationPolicy on a sniffed port", run: sniffedPolicy },
  { name: "STRICT refuses a plaintext client", run: strict },
  { name: "a bad VirtualService is refused, with the field", run: badObject },
  { name: "the control plane is killed, no request fails, changes go on", run: controlPlaneKilled },
];

async function pageServed({ demo }: CheckContext): Promise<string> {
  const reply = await get(`${demo.gatewayUrl}/productpage`);
  expectThat(reply.status === 200 && reply.body.includes("Comedy of Errors"), `GET /productpage gave ${reply.status}`);
  return `200 in ${reply.ms.toFixed(0)} ms`;
}

async function spread(context: CheckContext): Promise<string> {
  // A folder that was used before may still send everything to one version.
  await context.remove("reviews-v1.yaml");
  const seen = new Map<string, number>();
  // The last Pod's endpoint may still be on its way when the demo says ready.
  await until(5_000, async () => {
    const version = await reviewVersion(context);
    seen.set(version, (seen.get(version) ?? 0) + 1);
    return seen.size >= 3;
  });
  return [...seen]
    .sort()
    .map(([version, count]) => `${version}: ${count}`)
    .join(", ");
}

async function allFromV1(context: CheckContext): Promise<string> {
  await context.apply("reviews-v1.yaml");
  const ms = await liveAfter(async () => (await versions(context, 10)).get("v1") === 10);
  const counts = await versions(context, 50);
  expectThat(counts.get("v1") === 50, `of 50 requests ${describe(counts)}`);
  return `50 of 50 from v1, live in ${ms.toFixed(0)} ms`;
}

async function canary(context: CheckContext): Promise<string> {
  await context.apply("reviews-90-10.yaml");
  const ms = await liveAfter(async () => (await versions(context, 20)).has("v3"));
  const counts = await versions(context, 400);
  const v3 = counts.get("v3") ?? 0;
  // Four standard deviations of a binomial with n = 400 and p = 0.1.
  expectThat(v3 >= 16 && v3 <= 64 && v3 + (counts.get("v1") ?? 0) === 400, `of 400 requests ${describe(counts)}`);
  return `${describe(counts)} of 400, live in ${ms.toFixed(0)} ms`;
}

async function byHeader(context: CheckContext): Promise<string> {
  await context.apply("reviews-jason.yaml");
  const ms = await liveAfter(async () => (await reviewVersion(context, "jason")) === "v2");
  const [jason, others] = [await versions(context, 20, "jason"), await versions(context, 20)];
  expectThat(
    jason.get("v2") === 20 && others.get("v1") === 20,
    `jason: ${describe(jason)}; others: ${describe(others)}`,
  );
  return `jason 20 of 20 from v2, others 20 of 20 from v1, live in ${ms.toFixed(0)} ms`;
}

async function faultDelay(context: CheckContext): Promise<string> {
  await context.apply("fault-delay.yaml");
  let last: Reply | undefined;
  await until(6_000, async () => {
    last = await get(`${context.demo.gatewayUrl}/api/v1/products/0`);
    return last.ms >= 1_900;
  });
  expectThat(
    last !== undefined && last.ms >= 1_900 && last.ms < 3_500 && last.status === 200,
    `details answered ${last?.status} after ${last?.ms.toFixed(0)} ms`,
  );
  await context.remove("fault-delay.yaml");
  return `details answers after ${last?.ms.toFixed(0)} ms`;
}

async function faultAbort(context: CheckContext): Promise<string> {
  await context.apply("fault-abort.yaml");
  const ms = await liveAfter(async () => (await get(`${context.demo.gatewayUrl}/api/v1/products/0`)).status === 503);
  await context.remove("fault-abort.yaml");
  await liveAfter(async () => (await get(`${context.demo.gatewayUrl}/api/v1/products/0`)).status === 200);
  return `details answers 503, live in ${ms.toFixed(0)} ms; 200 again once removed`;
}

async function identities(context: CheckContext): Promise<string> {
  const hops = [
    [
      "gateway → productpage",
      (await get(`${context.demo.gatewayUrl}/api/v1/products/peer`)).body,
      "istio-ingressgateway-service-account",
      "bookinfo-productpage",
    ],
    [
      "productpage → details",
      await inside(context, "productpage-v1", "http://details:9080/peer"),
      "bookinfo-productpage",
      "bookinfo-details",
    ],
    [
      "productpage → reviews",
      await inside(context, "productpage-v1", "http://reviews:9080/peer"),
      "bookinfo-productpage",
      "bookinfo-reviews",
    ],
    [
      "reviews → ratings",
      await inside(context, "reviews-v2", "http://ratings:9080/peer"),
      "bookinfo-reviews",
      "bookinfo-ratings",
    ],
  ] as const;
  for (const [hop, body, client, server] of hops) {
    const { by, uri } = readXfcc(body);
    expectThat(
      uri?.serviceAccount === client && by?.serviceAccount === server,
      `${hop}: the sidecar saw ${body.slice(0, 200)}`,
    );
  }
  return `${hops.length} hops: ${hops.map(([hop]) => hop).join(", ")}`;
}

async function sniffedPolicy(context: CheckContext): Promise<string> {
  await context.startSniffed();
  const status = async (path: string): Promise<string> =>
    await insideStatus(context, "productpage-v1", `http://sniffed:9090${path}`);
  await until(5_000, async () => (await status("/details/1")) === "200");
  await context.applyText(sniffedDeny);
  const ms = await liveAfter(async () => (await status("/details/1")) === "403");
  const allowed = await status("/details/0");
  expectThat(allowed === "200", `/details/0, which is allowed, gave ${allowed}`);
  await context.removeText(sniffedDeny);
  return `/details/1 is 403, /details/0 is 200, live in ${ms.toFixed(0)} ms`;
}

const sniffedDeny = `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: sniffed-deny, namespace: default}
spec:
  selector: {matchLabels: {app: sniffed}}
  action: DENY
  rules:
  - to: [{operation: {paths: ["/details/1"]}}]
`;

async function strict(context: CheckContext): Promise<string> {
  const address = context.demo.workloads.get("details-v1")?.address ?? "";
  expectThat(
    (await plaintext(address)) === "answered",
    "a plaintext client was refused although the mode is PERMISSIVE",
  );
  await context.apply("strict.yaml");
  const ms = await liveAfter(async () => (await plaintext(address)) === "refused");
  const inMesh = await get(`${context.demo.gatewayUrl}/productpage`);
  expectThat(inMesh.status === 200, `the mesh's own traffic gave ${inMesh.status}`);
  await context.remove("strict.yaml");
  return `refused, live in ${ms.toFixed(0)} ms; the mesh's own traffic goes on`;
}

async function badObject(context: CheckContext): Promise<string> {
  const refusal = await context.refusal(`
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: bad, namespace: default}
spec:
  hosts: [reviews]
  http:
  - route:
    - destination: {host: reviews}
      weight: -5
`);
  expectThat(
    refusal.includes("weight") && refusal.includes("spec.http[0].route[0]"),
    `the refusal was: ${refusal.slice(0, 300)}`,
  );
  return "spec.http[0].route[0].weight is named";
}

async function controlPlaneKilled(context: CheckContext): Promise<string> {
  await context.apply("reviews-v1.yaml");
  const before = context.mesh.controlPlanePid();
  const load = startLoad(`${context.demo.gatewayUrl}/productpage`);
  process.kill(before, "SIGKILL");
  await until(20_000, async () => context.mesh.controlPlanePid() !== before);
  await wait(1_000);
  await untilApplied(context, "reviews-jason.yaml");
  const ms = await liveAfter(async () => (await reviewVersion(context, "jason")) === "v2", 10_000);
  const { requests, failed } = await load.stop();
  expectThat(failed === 0 && requests > 0, `${failed} of ${requests} requests failed`);
  return `${requests} requests, 0 failed; after the restart a change was live in ${ms.toFixed(0)} ms`;
}

/** While the control plane starts, the webhook refuses: that is what failurePolicy Fail means. */
async function untilApplied(context: CheckContext, file: string): Promise<void> {
  await until(15_000, () =>
    context.apply(file).then(
      () => true,
      () => false,
    ),
  );
}

async function reviewVersion({ demo }: CheckContext, user?: string): Promise<string> {
  const reply = await get(
    `${demo.gatewayUrl}/api/v1/products/0/reviews`,
    user === undefined ? {} : { "end-user": user },
  );
  return /"version":"(v\d)"/.exec(reply.body)?.[1] ?? `status ${reply.status}`;
}

async function versions(context: CheckContext, requests: number, user?: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (let done = 0; done < requests; done += 10) {
    const batch = Array.from({ length: Math.min(10, requests - done) }, () => reviewVersion(context, user));
    for (const version of await Promise.all(batch)) counts.set(version, (counts.get(version) ?? 0) + 1);
  }
  return counts;
}

const describe = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .sort()
    .map(([key, count]) => `${key}: ${count}`)
    .join(", ");

/** `By=spiffe://…;Hash=…;Subject="";URI=spiffe://…`, of the last hop. */
function readXfcc(body: string): { by: Identity | undefined; uri: Identity | undefined } {
  const xfcc = /"xfcc":"((?:[^"\\]|\\.)*)"/.exec(body)?.[1] ?? "";
  const last = xfcc.split(",").at(-1) ?? "";
  const part = (name: string): Identity | undefined =>
    parseIdentity(new RegExp(`(?:^|;)${name}=([^;]*)`).exec(last)?.[1] ?? "");
  return { by: part("By"), uri: part("URI") };
}

/** A request made by a process beside the workload's own, so that it goes out through the workload's sidecar. */
async function inside(context: CheckContext, workload: string, url: string): Promise<string> {
  return (await ask(context, workload, url)).output;
}

async function insideStatus(context: CheckContext, workload: string, url: string): Promise<string> {
  return (await ask(context, workload, url)).output.split("\n")[0] ?? "";
}

const client =
  'fetch(process.argv[1]).then(async (r) => console.log(r.status + "\\n" + (await r.text())), (e) => console.log("failed\\n" + e.message))';

async function ask(context: CheckContext, workload: string, url: string): Promise<{ output: string }> {
  const found = context.demo.workloads.get(workload);
  if (!found) throw new FairleadError("internal", `no workload ${workload}`);
  return await found.exec([process.execPath, "-e", client, url]);
}

/** A client outside the mesh that speaks plain HTTP to a Pod. */
function plaintext(address: string): Promise<"answered" | "refused" | "silent"> {
  return new Promise((resolve) => {
    const socket = connect(9080, address, () =>
      socket.write("GET /details/0 HTTP/1.1\r\nhost: details\r\nconnection: close\r\n\r\n"),
    );
    // Within a moment of the listener's change a connection may be neither served nor closed: then ask again.
    let silent = false;
    socket.setTimeout(500, () => {
      silent = true;
      socket.destroy();
    });
    let answered = false;
    socket.on("data", (data) => {
      answered ||= data.includes("200 OK");
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(answered ? "answered" : silent ? "silent" : "refused"));
  });
}

function get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  const started = performance.now();
  return new Promise((resolve) => {
    const end = (status: number, body: string): void => resolve({ status, body, ms: performance.now() - started });
    const req = request(url, { headers, agent: false, timeout: 10_000 }, (res) => {
      let body = "";
      res.setEncoding("utf8");
      res.on("data", (chunk: string) => {
        body += chunk;
      });
      res.on("end", () => end(res.statusCode ?? 0, body));
    });
    req.on("timeout", () => req.destroy(new Error("no answer in 10 s")));
    req.on("error", (error) => end(0, error.message));
    req.end();
  });
}

function startLoad(url: string): { stop(): Promise<{ requests: number; failed: number }> } {
  let [requests, failed, running] = [0, 0, true];
  const loop = (async () => {
    while (running && requests < 20_000) {
      requests++;
      if ((await get(url)).status !== 200) failed++;
    }
  })();
  return {
    async stop() {
      running = false;
      await loop;
      return { requests, failed };
    },
  };
}

function expectThat(holds: boolean, cause: string): void {
  if (!holds) throw new FairleadError("conflict", cause);
}

async function until(limitMs: number, done: () => Promise<boolean>): Promise<number> {
  const started = performance.now();
  while (performance.now() - started < limitMs) {
    if (await done()) return performance.now() - started;
    await wait(20);
  }
  throw new FairleadError("timeout", `not so after ${limitMs / 1000} s`);
}

const liveAfter = (done: () => Promise<boolean>, limitMs: number = liveMs): Promise<number> => until(limitMs, done);
