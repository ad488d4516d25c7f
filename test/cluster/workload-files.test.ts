/**
 * What a machine joins with, written from the objects of a cluster; where FAIRLEAD_ISTIOCTL names an istioctl, that one
 * writes the same from them.
 */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../src/cli/testing.ts";
import { parseYaml, readRecord } from "../../src/lib/index.ts";
import type { Cluster } from "./cluster.ts";
import { openMesh } from "./mesh.ts";
import type { Plane } from "./plane.ts";

let cluster: Cluster;
let plane: Plane;
let namespace = "";
const istioctl = process.env.FAIRLEAD_ISTIOCTL;
/** The API is served by this very process, which must not wait. */
const run = promisify(execFile);

beforeAll(async () => {
  ({ cluster, plane, namespace } = await openMesh());
  await cluster.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "vm", namespace } });
  expect(await cluster.kubectl("apply -f -", (await runCli(create())).stdout)).toMatchObject({ code: 0 });
}, 300_000);
afterAll(() => cluster.close());

const create = (): readonly string[] => [
  ...["workload", "group", "create", "--name", "db", "--namespace", namespace, "--labels", "app=db,version=v2"],
  ...["--ports", "http=8080,admin=9090", "--serviceAccount", "vm", "--annotations", "a=b", "--network", "vm-net"],
];

test("a WorkloadGroup is printed, which the API took above", async () => {
  const { status, stdout } = await runCli(create());
  expect(status).toBe(0);
  expect(readRecord(parseYaml(stdout)[0])).toMatchObject({
    kind: "WorkloadGroup",
    metadata: { name: "db", namespace },
    spec: {
      metadata: { labels: { app: "db", version: "v2" }, annotations: { a: "b" } },
      template: { serviceAccount: "vm", network: "vm-net", ports: { http: 8080, admin: 9090 } },
    },
  });
  if (istioctl) expect(stdout).toBe((await run(istioctl, ["x", ...create()])).stdout);
}, 300_000);

test("the files are the mesh's settings, roots and token for one machine of it", async () => {
  const configure = (folder: string): readonly string[] => [
    ...["workload", "entry", "configure", "--name", "db", "--namespace", namespace, "--autoregister"],
    ...["--istioNamespace", plane.namespace, "--revision", plane.revision, "--ingressIP", "10.1.2.3"],
    ...["--internalIP", "10.9.9.9", "--clusterID", "c1", "--kubeconfig", cluster.kubeconfig, "-o", folder],
  ];
  const ours = join(cluster.dir, "ours");
  // The root comes to the namespace in its time.
  await expect.poll(() => runCli(configure(ours)), { timeout: 120_000 }).toMatchObject({ status: 0 });
  const read = (folder: string, file: string): string => readFileSync(join(folder, file), "utf8");
  expect(readdirSync(ours).sort()).toEqual(["cluster.env", "hosts", "istio-token", "mesh.yaml", "root-cert.pem"]);
  expect(statSync(join(ours, "istio-token")).mode & 0o777).toBe(0o600);
  expect(read(ours, "istio-token").split(".")).toHaveLength(3);
  const host = `istiod-${plane.revision}.${plane.namespace}.svc`;
  expect(read(ours, "hosts")).toBe(`10.1.2.3 ${host}\n`);
  expect(read(ours, "root-cert.pem")).toContain("BEGIN CERTIFICATE");
  expect(readRecord(readRecord(parseYaml(read(ours, "mesh.yaml"))[0]).defaultConfig)).toMatchObject({
    proxyMetadata: {
      CANONICAL_SERVICE: "db",
      CANONICAL_REVISION: "v2",
      ISTIO_META_AUTO_REGISTER_GROUP: "db",
      ISTIO_META_DNS_CAPTURE: "true",
      ISTIO_META_POD_PORTS: expect.stringContaining('{"name":"admin","containerPort":9090,"protocol":""},'),
    },
  });
  const lines = read(ours, "cluster.env").split("\n");
  for (const line of [
    "ISTIO_LOCAL_EXCLUDE_PORTS='22,15090,15021,15020'",
    "ISTIO_SERVICE_CIDR='*'",
    "ISTIO_SVC_IP='10.9.9.9'",
    `CA_ADDR='${host}:15012'`,
  ])
    expect(lines).toContain(line);
  if (!istioctl) return;
  const theirs = join(cluster.dir, "theirs");
  const { stderr } = await run(istioctl, ["x", ...configure(theirs)]);
  expect(stderr).toContain("a security token");
  for (const file of ["root-cert.pem", "hosts"]) expect(read(ours, file)).toBe(read(theirs, file));
  expect(parseYaml(read(ours, "mesh.yaml"))).toEqual(parseYaml(read(theirs, "mesh.yaml")));
  // It writes the ports in random order.
  const sorted = (folder: string): readonly string[] =>
    read(folder, "cluster.env")
      .split("\n")
      .map((line) =>
        line.replace(/^(ISTIO_INBOUND_PORTS=)'(.*)'$/, (_, name, ports) => name + ports.split(",").sort()),
      );
  expect(sorted(ours)).toEqual(sorted(theirs));
}, 300_000);

test("without a group to go by, and with two addresses, the user is told", async () => {
  const configure = ["workload", "entry", "configure", "-o", join(cluster.dir, "none")];
  expect(await runCli(configure)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("expecting a WorkloadGroup"),
  });
  const both = [...configure, "--name", "a", "-n", "b", "--internalIP", "10.0.0.1", "--externalIP", "10.0.0.2"];
  expect(await runCli(both)).toMatchObject({ status: 2, stderr: expect.stringContaining("mutually exclusive") });
});
