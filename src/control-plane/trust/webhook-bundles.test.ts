/** A control plane on a real API that for a while may not write webhook configurations. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { readList, readRecord } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { type ControlledApi, startControlledApi } from "../controllers/testing.ts";
import { allowSecrets, scrape } from "../testing.ts";
import { startPlane } from "./testing.ts";

const admission = "admissionregistration.k8s.io";
const rights = "/apis/rbac.authorization.k8s.io/v1/clusterroles/fairlead-control-plane";
let world: ControlledApi;
beforeAll(async () => {
  world = await startControlledApi();
  await allowSecrets(world);
});
afterAll(() => world.close());

const configuration = (kind: string, webhook: string): KubeObject => ({
  apiVersion: `${admission}/v1`,
  kind,
  metadata: { name: "ours", labels: { "istio.io/rev": "default" } },
  webhooks: [
    {
      ...{ name: webhook, clientConfig: { url: "https://127.0.0.1:1/" }, rules: [] },
      ...{ failurePolicy: "Ignore", sideEffects: "None", admissionReviewVersions: ["v1"] },
    },
  ],
});
const hasBundle = (now: KubeObject | undefined): boolean =>
  readRecord(readRecord(readList(now?.["webhooks"])[0])["clientConfig"])["caBundle"] !== undefined;

test("a configuration that cannot be written is tried again until it can, and each failure is counted", async () => {
  const role = readRecord(await world.admin.raw("GET", rights));
  const mayNot = readList(role["rules"])
    .map(readRecord)
    .map((rule) =>
      readList(rule["apiGroups"]).includes(admission) ? { ...rule, verbs: ["get", "list", "watch"] } : rule,
    );
  await world.admin.raw("PUT", rights, { ...role, rules: mayNot });
  await world.create(configuration("ValidatingWebhookConfiguration", "rev.validation.istio.io"));
  await world.create(configuration("MutatingWebhookConfiguration", "rev.namespace.sidecar-injector.istio.io"));
  const plane = await startPlane(world);
  for (const counted of [
    /^webhook_patch_attempts_total\{name="ours"\} [1-9]/m,
    /^webhook_patch_failures_total\{name="ours",reason="webhook_update_failure"\} [1-9]/m,
    /^webhook_patch_retries_total\{name="ours"\} [1-9]/m,
    /^galley_validation_config_update_error\{reason="forbidden"\} [1-9]/m,
  ])
    await expect.poll(() => scrape(plane)).toMatch(counted);
  expect(await scrape(plane)).not.toMatch(/^galley_validation_config_updates/m);

  const { rules } = role;
  const weakened = readRecord(await world.admin.raw("GET", rights));
  await world.admin.raw("PUT", rights, { ...weakened, rules });
  for (const kind of ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
    await world.until(admission, kind, "ours", hasBundle);
  expect(await scrape(plane)).toMatch(/^galley_validation_config_updates 1$/m);
  await plane.close();
});
