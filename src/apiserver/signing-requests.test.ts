import { afterAll, beforeAll, expect, test } from "vitest";
import { createKubeClient, type KubeClient, kubeKinds, loadKubeconfig } from "../kube/index.ts";
import { readRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { createCsr, generateKey } from "../pki/index.ts";
import { startApi, type TestApi } from "./testing.ts";

const requests = kubeKinds.certificateSigningRequests;
let api: TestApi;
let admin: KubeClient;
let user: KubeClient;

const connect = async (file: string): Promise<KubeClient> =>
  createKubeClient(await loadKubeconfig({ paths: [file], env: {} }));

beforeAll(async () => {
  api = await startApi();
  admin = await connect(api.kubeconfig);
  await api.server.writeKubeconfig(`${api.dir}/user`, { user: "anna" });
  user = await connect(`${api.dir}/user`);
  const [apiGroups, apiVersion] = [["certificates.k8s.io"], "rbac.authorization.k8s.io/v1"];
  const metadata = { name: "anna" };
  const rules = [
    {
      apiGroups,
      resources: ["", "/approval", "/status"].map((sub) => `certificatesigningrequests${sub}`),
      verbs: ["*"],
    },
    { apiGroups, resources: ["signers"], resourceNames: ["example.com/hers"], verbs: ["approve"] },
  ];
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  await admin.raw("POST", `${rbac}/clusterroles`, { apiVersion, kind: "ClusterRole", metadata, rules });
  await admin.raw("POST", `${rbac}/clusterrolebindings`, {
    ...{ apiVersion, kind: "ClusterRoleBinding", metadata },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "anna" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "anna" }],
  });
});
afterAll(async () => {
  admin.close();
  user.close();
  await api.close();
});

let csr = "";
async function request(signerName: string, more: object = {}): Promise<KubeObject> {
  csr ||= createCsr({ key: await generateKey() });
  const spec = { request: Buffer.from(csr).toString("base64"), signerName, usages: ["client auth"], ...more };
  const metadata = { name: "", generateName: "csr-" };
  return user.create(requests, { apiVersion: "certificates.k8s.io/v1", kind: requests.kind, metadata, spec });
}
const verdict = (type: string): object => ({ type, status: "True", reason: "Test", message: "m" });
const change = (client: KubeClient, of: KubeObject, subresource: string | undefined, body: object) =>
  client.patch(requests, { name: of.metadata.name }, "merge", body, { subresource });

test("who asks is the caller, whatever the request says, and what was asked never changes", async () => {
  const made = await request("example.com/hers", { username: "root", groups: ["system:masters"] });
  expect(made.spec).toMatchObject({ username: "anna", groups: ["system:authenticated"] });
  const changed = await change(user, made, undefined, { spec: { signerName: "example.com/other" } });
  expect(changed.spec).toEqual(made.spec);
});

test("a verdict is given through approval alone, by who may approve for that signer", async () => {
  const made = await request("example.com/hers");
  const approved = { status: { conditions: [verdict("Approved")] } };
  expect((await change(user, made, "status", approved)).status ?? {}).toEqual({});
  const other = await request("example.com/other");
  await expect(change(user, other, "approval", approved)).rejects.toThrow("not permitted to approve");
  const judged = await change(user, made, "approval", { status: { ...approved.status, certificate: "AAAA" } });
  expect(judged.status).toEqual({ conditions: [expect.objectContaining({ type: "Approved" })] });
  await expect(
    change(user, made, "approval", { status: { conditions: [verdict("Approved"), verdict("Denied")] } }),
  ).rejects.toThrow("mutually exclusive");
});

test("a certificate is written by who may sign for that signer, and the verdict stays", async () => {
  const made = await request("example.com/hers");
  await change(user, made, "approval", { status: { conditions: [verdict("Approved")] } });
  const signed = { status: { certificate: Buffer.from("pem").toString("base64"), conditions: [] } };
  await expect(change(user, made, "status", signed)).rejects.toThrow("not permitted to sign");
  const issued = await change(admin, made, "status", signed);
  expect(readRecord(issued.status)).toMatchObject({
    certificate: signed.status.certificate,
    conditions: [{ type: "Approved" }],
  });
});

test.each<[string, string, object]>([
  ["spec.request", "example.com/x", { request: Buffer.from("junk").toString("base64") }],
  ["spec.signerName", "no-domain", {}],
  ["spec.usages", "example.com/x", { usages: [] }],
  ["spec.expirationSeconds", "example.com/x", { expirationSeconds: 60 }],
])("what cannot be signed is refused, by its field: %s", async (field, signerName, more) => {
  await expect(request(signerName, more)).rejects.toThrow(field);
});
