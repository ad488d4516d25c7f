/** What kubectl is told by the embedded API and by no other. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { startApi, type TestApi } from "./testing.ts";

describe.skipIf(lacks("kubectl"))("kubectl on the embedded API", () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startApi();
  });
  afterAll(() => api.close());

  const ok = async (args: string, input?: string): Promise<string> => {
    const { code, out, err } = await api.kubectl(args, input);
    expect(err).toBe("");
    expect(code).toBe(0);
    return out;
  };

  test("kinds that are only stored", async () => {
    const driver = JSON.stringify({
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIDriver",
      metadata: { name: "csi.example.com" },
      spec: { attachRequired: false },
    });
    expect((await api.kubectl("apply -f -", driver)).err).toContain("nothing mounts volumes here");
    expect(await ok("get csidriver csi.example.com -o jsonpath={.spec.attachRequired}")).toBe("false");
  });

  test("what nothing runs is stored with a warning that says what to do", async () => {
    const { err, out } = await api.kubectl("create deployment web --image=x");
    expect(err).toContain("Warning: Deployment is stored");
    expect(err).toContain("fairlead run");
    expect(out).toContain("deployment.apps/web created");
    expect(await ok("get deploy web --no-headers")).toMatch(/^web +0\/1 +0 +0 /);
  });

  test("explain has a word on every field of the mesh's own kinds", async () => {
    expect(await ok("explain virtualservice.spec.http.retries")).not.toContain("<no description>");
  });
});
