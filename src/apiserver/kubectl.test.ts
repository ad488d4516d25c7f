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

  test("an autoscaler in both of its versions, whichever it was written in", async () => {
    await api.kubectl("create deployment scaled --image=x");
    expect(await api.kubectl("autoscale deployment scaled --min=1 --max=3 --cpu-percent=50")).toMatchObject({
      code: 0,
    });
    const read = (version: string, path: string): Promise<string> =>
      ok(`get horizontalpodautoscalers.${version}.autoscaling scaled -o jsonpath=${path}`);
    expect(await read("v1", "{.spec.targetCPUUtilizationPercentage}")).toBe("50");
    expect(await read("v2", "{.spec.metrics[0].resource.target.averageUtilization}")).toBe("50");
    const memory = {
      type: "Resource",
      resource: { name: "memory", target: { type: "Utilization", averageUtilization: 70 } },
    };
    const cpu = {
      type: "Resource",
      resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } },
    };
    const patch = JSON.stringify({
      spec: { metrics: [memory, cpu], behavior: { scaleDown: { selectPolicy: "Min" } } },
    });
    await api.kubectl(`patch horizontalpodautoscalers.v2.autoscaling scaled --type=merge -p '${patch}'`);
    expect(await read("v1", "{.spec.targetCPUUtilizationPercentage}")).toBe("60");
    await api.kubectl(
      `patch horizontalpodautoscalers.v1.autoscaling scaled --type=merge -p '{"spec":{"maxReplicas":9}}'`,
    );
    expect(JSON.parse(await read("v2", "{.spec.metrics}"))).toEqual([memory, cpu]);
    expect(await read("v2", "{.spec.maxReplicas}{.spec.behavior.scaleDown.selectPolicy}")).toBe("9Min");
    expect(await read("v2", "{.metadata.annotations}")).toBe("");
  });

  test("explain has a word on every field of the mesh's own kinds", async () => {
    expect(await ok("explain virtualservice.spec.http.retries")).not.toContain("<no description>");
  });
});
