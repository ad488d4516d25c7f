/** The table of names that an agent is sent, objects in to entries out. */
import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { NameTableSchema } from "../../src/gen/istio/nds_pb.js";
import { bytesOf, type KubeObject, types } from "../../src/model/index.ts";
import { createRenderer } from "../../src/render/index.ts";
import { istio, pod, service, slice } from "./objects.ts";

function table(objects: readonly KubeObject[], capture = "true"): Readonly<Record<string, object>> | undefined {
  const offline = createOffline({ objects: [pod("client", { proxy: "sidecar", address: "10.0.0.9" }), ...objects] });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const metadata = { ...proxy.metadata, DNS_CAPTURE: capture };
  const renderer = createRenderer(offline.mesh, offline.classOf({ ...proxy, metadata }));
  const [resource] = renderer.all(types.nameTable).values();
  if (!resource) return undefined;
  const entries = Object.entries(fromBinary(NameTableSchema, bytesOf(resource)).table);
  return Object.fromEntries(entries.map(([host, { $typeName: _, ...info }]) => [host, info]));
}

const entry = (name: string, spec: object): KubeObject =>
  istio("ServiceEntry", name, { ports: [{ number: 80, name: "http", protocol: "HTTP" }], ...spec });

describe("the table of names", () => {
  test("only agents that answer DNS are sent one", () => {
    expect(table([service("web")], "false")).toBeUndefined();
  });

  test("a Service is known by its address, with what its short names are made of", () => {
    expect(table([service("web")])).toEqual({
      "web.default.svc.cluster.local": {
        ips: ["10.96.0.1"],
        registry: "Kubernetes",
        shortname: "web",
        namespace: "default",
      },
    });
  });

  test("a headless Service is known by its ready Pods, and each of these by its own name", () => {
    const headless = service("db", { spec: { clusterIP: "None" } });
    const member = (n: number): KubeObject => {
      const made = pod(`db-${n}`, { address: `10.0.1.${n}`, labels: { app: "db" } });
      return { ...made, spec: { ...(made.spec as object), hostname: `db-${n}`, subdomain: "db" } };
    };
    const endpoints = slice("db", [
      { address: "10.0.1.0", pod: "db-0" },
      { address: "10.0.1.1", pod: "db-1" },
      { address: "10.0.1.2", pod: "db-2", ready: false },
    ]);
    const found = table([headless, member(0), member(1), member(2), endpoints]);
    expect(found?.["db.default.svc.cluster.local"]).toMatchObject({ ips: ["10.0.1.0", "10.0.1.1"] });
    expect(found?.["db-1.db.default.svc.cluster.local"]).toMatchObject({ ips: ["10.0.1.1"], shortname: "db-1.db" });
    expect(found).not.toHaveProperty("db-2.db.default.svc.cluster.local");
  });

  test("hosts of ServiceEntries are known by their addresses, but for ranges", () => {
    const found = table([
      entry("one", {
        hosts: ["api.example.com"],
        addresses: ["240.0.0.1", "10.9.0.0/16", "240.0.0.2"],
        resolution: "DNS",
      }),
      entry("any", { hosts: ["*.example.org"], addresses: ["240.0.0.3"], resolution: "STATIC" }),
      entry("bare", { hosts: ["bare.example.com"], resolution: "DNS" }),
    ]);
    expect(found).toEqual({
      "api.example.com": { ips: ["240.0.0.1", "240.0.0.2"], registry: "External", shortname: "", namespace: "" },
      "*.example.org": { ips: ["240.0.0.3"], registry: "External", shortname: "", namespace: "" },
    });
  });

  test("a ServiceEntry of a Service's name does not change its address", () => {
    const same = entry("same", {
      hosts: ["web.default.svc.cluster.local"],
      addresses: ["240.0.0.9"],
      resolution: "STATIC",
    });
    expect(table([service("web"), same])?.["web.default.svc.cluster.local"]).toMatchObject({ ips: ["10.96.0.1"] });
  });
});
