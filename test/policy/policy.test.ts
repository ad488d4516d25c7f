/**
 * Generated requests through a real stock Envoy: what it does with each is what the evaluator, written from the
 * documented meaning of policies, says; and what reached the application may be there by what the application saw of
 * it. FAIRLEAD_SOAK=1 sends ten times as many; FAIRLEAD_SEED and FAIRLEAD_CASES choose.
 */
import type { Server } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRandom } from "../random.ts";
import { lacks } from "../require.ts";
import { ownPorts, type RunningEnvoy, startEnvoy, startHttp, staticCluster } from "./envoy.ts";
import { judge } from "./evaluate.ts";
import { createIdentities, type Identities } from "./identity.ts";
import { type PolicyRequest, randomRequest } from "./request.ts";
import { type Scenario, scenarios } from "./scenario.ts";
import { send } from "./send.ts";
import { createTokens, type Tokens } from "./tokens.ts";
import { gateCluster, workloadListener } from "./workload.ts";

const seed = Number(process.env.FAIRLEAD_SEED ?? 20261115);
/** R20: paths in disguise, by the thousand for each mode of normalisation. */
const countOf = ({ normalization }: Scenario): number => (process.env.FAIRLEAD_SOAK ? (normalization ? 1_300 : 60) : 6);
const atOnce = 60;
const wanted = new RegExp(process.env.FAIRLEAD_CASES ?? ".");
const chosen = scenarios.filter(({ name }) => wanted.test(name));

describe.skipIf(lacks("envoy"))("policies before a stock Envoy", () => {
  let envoy: RunningEnvoy;
  let identities: Identities;
  let tokens: Tokens;
  const ports = ownPorts(chosen.length);
  const servers: Server[] = [];

  beforeAll(async () => {
    [identities, tokens] = await Promise.all([createIdentities(), createTokens()]);
    const app = await startHttp((request, response) =>
      response.writeHead(200, { "x-seen": encodeURIComponent(request.url ?? "") }).end(),
    );
    const gate = await startHttp((request, response) =>
      response.writeHead(request.headers["x-pass"] === "yes" ? 200 : 403).end(),
    );
    servers.push(app.server, gate.server);
    const own = await identities.issue({ trustDomain: "cluster.local", namespace: "default", account: "app" });
    const listeners = await Promise.all(
      chosen.map((scenario, i) =>
        workloadListener(scenario, ports[i] ?? 0, tokens.jwks, { own, root: identities.root }),
      ),
    );
    envoy = await startEnvoy(listeners, [
      staticCluster(gateCluster, gate.port),
      staticCluster("InboundPassthroughCluster", app.port),
      staticCluster("BlackHoleCluster", 1),
      ...ports.map((port) => staticCluster(`inbound|${port}||`, app.port)),
    ]);
  });
  afterAll(async () => {
    await envoy?.close();
    for (const server of servers) server.close();
    if (process.env.FAIRLEAD_SOAK) tell();
  });
  const totals = { requests: 0, disagreements: 0, bypasses: 0 };
  const tell = (): void => {
    const policies = chosen.reduce((sum, scenario) => sum + scenario.policies.length, 0);
    const { requests, disagreements, bypasses } = totals;
    console.info(
      `${chosen.length} workloads under ${policies} policies: ${requests} requests, ${disagreements} disagreements, ${bypasses} bypasses (seed ${seed})`,
    );
  };

  const trial = async (scenario: Scenario, port: number, request: PolicyRequest): Promise<readonly string[]> => {
    const credentials = request.peer && (await identities.issue(request.peer));
    const { verdict, seenPath } = await send(request, { port, token: tokens.texts.get(request.token), credentials });
    const expected = judge(scenario, request, port);
    const told = `${JSON.stringify(request)}: ${expected} expected, ${verdict} found`;
    const wrong = verdict === expected ? [] : [told];
    if (verdict !== "passed") return wrong;
    const reached = judge(scenario, request, port, seenPath ?? "");
    return reached === "passed" ? wrong : [...wrong, `bypass: ${seenPath} was let through: ${told}`];
  };

  test.each(chosen.map((scenario, index) => ({ name: scenario.name, scenario, index })))(
    "$name",
    { timeout: 300_000 },
    async ({ scenario, index }) => {
      const random = createRandom(seed + index);
      const requests = Array.from({ length: countOf(scenario) }, () => randomRequest(random));
      const found: string[] = [];
      for (let i = 0; i < requests.length; i += atOnce) {
        const some = requests.slice(i, i + atOnce).map((request) => trial(scenario, ports[index] ?? 0, request));
        found.push(...(await Promise.all(some)).flat());
      }
      const bypasses = found.filter((line) => line.startsWith("bypass")).length;
      totals.requests += requests.length;
      totals.bypasses += bypasses;
      totals.disagreements += found.length - bypasses;
      expect(found).toEqual([]);
    },
  );

  test("Envoy is still the one that was started", () => {
    expect(envoy.alive()).toBe(true);
  });
});
