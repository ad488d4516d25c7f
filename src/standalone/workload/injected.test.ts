import { expect, test } from "vitest";
import type { KubeObject } from "../../model/index.ts";
import { captureArguments, initContainerNames, proxyArguments, proxyEnvironment, withProxyConfig } from "./injected.ts";

const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });

const pod: KubeObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "shop" },
  spec: {
    nodeName: "here",
    serviceAccountName: "shopper",
    initContainers: [{ name: "istio-init", args: ["istio-iptables", "-p", "15001", "-x", ""] }],
    containers: [
      { name: "app" },
      {
        name: "istio-proxy",
        args: ["proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.$(OTHER)"],
        resources: { limits: { cpu: "500m" } },
        env: [
          { name: "PLAIN", value: "x" },
          { name: "EMPTY" },
          field("POD_NAMESPACE", "metadata.namespace"),
          field("INSTANCE_IP", "status.podIP"),
          field("HOST_IP", "status.hostIP"),
          field("SERVICE_ACCOUNT", "spec.serviceAccountName"),
          field("STRANGE", "metadata.uid"),
          { name: "CPUS", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
          { name: "MEMORY", valueFrom: { resourceFieldRef: { resource: "limits.memory" } } },
        ],
      },
    ],
  },
};

test("the proxy is started as its container says", () => {
  const env = proxyEnvironment(pod, { address: "10.0.0.1", hostAddress: "10.0.0.254" });
  expect(env).toEqual({
    PLAIN: "x",
    EMPTY: "",
    POD_NAMESPACE: "shop",
    INSTANCE_IP: "10.0.0.1",
    HOST_IP: "10.0.0.254",
    SERVICE_ACCOUNT: "shopper",
    CPUS: "1",
  });
  expect(proxyArguments(pod, env)).toEqual(["proxy", "sidecar", "--domain", "shop.svc.$(OTHER)"]);
});

test("capture is set up as the init container says, and not without one", () => {
  expect(captureArguments(pod)).toEqual(["-p", "15001", "-x", ""]);
  expect(initContainerNames(pod)).toEqual(["istio-init"]);
  expect(captureArguments({ ...pod, spec: { containers: [] } })).toEqual([]);
});

test("this machine's settings win over the injected ones", () => {
  expect(JSON.parse(withProxyConfig('{"concurrency":1,"binaryPath":"x"}\n', { binaryPath: "y" }))).toEqual({
    concurrency: 1,
    binaryPath: "y",
  });
  expect(withProxyConfig(undefined, { a: 1 })).toBe('{"a":1}');
});
