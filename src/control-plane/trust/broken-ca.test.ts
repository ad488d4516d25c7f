/** C15: a control plane whose CA Secret cannot be used. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSelfSignedBundle, formatSigningBundle } from "../../ca/index.ts";
import { kubeKinds } from "../../kube/index.ts";
import { type ControlledApi, startControlledApi } from "../controllers/testing.ts";
import { allowSecrets } from "../testing.ts";
import { encodeSecret } from "./secret-data.ts";
import { startPlane } from "./testing.ts";

let world: ControlledApi;
beforeAll(async () => {
  world = await startControlledApi();
  await allowSecrets(world);
});
afterAll(() => world.close());

test("C15: it does not start, says which file is wrong, and leaves the Secret as it is; mended, it starts with it", async () => {
  const [ca, other] = [await bundleOf("theirs"), await bundleOf("other")];
  const ref = { name: "istio-ca-secret", namespace: "istio-system" };
  const { metadata } = await world.create({
    ...{ apiVersion: "v1", kind: "Secret", metadata: ref, type: "istio.io/ca-root" },
    data: encodeSecret({ ...ca, "ca-key.pem": other["ca-key.pem"] }),
  });
  await expect(startPlane(world)).rejects.toThrow("ca-key.pem is not the key of ca-cert.pem");
  const after = await world.admin.find(kubeKinds.secrets, ref);
  expect(after?.metadata.resourceVersion).toBe(metadata.resourceVersion);

  await world.admin.patch(kubeKinds.secrets, ref, "merge", { data: encodeSecret({ ...ca }) });
  const plane = await startPlane(world);
  expect((await world.admin.find(kubeKinds.secrets, ref))?.data).toMatchObject(encodeSecret({ ...ca }));
  await plane.close();
});

const bundleOf = async (organization: string) =>
  formatSigningBundle(await createSelfSignedBundle({ organization, now: new Date() }));
